#!/usr/bin/env bash
# Builds a kube-apiserver 1.20.2 from the source package of Debian 12, and unpacks its etcd, into one folder, once.
# Nothing is installed, not even the Go that compiles it, and the state of the machine's own apt stays as it is.
#   infra/dev/kubernetes.sh FOLDER      prints progress; FOLDER/bin has both, FOLDER/version names what was built
# DEBIAN_MIRROR  where to download from; by default the mirror that this machine's apt uses
set -euo pipefail

folder=$(realpath -m "${1:?usage: infra/dev/kubernetes.sh FOLDER}")
suite=bookworm
version=1.20.2
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ -f "$folder/version" ] && exit 0
say() { echo "kubernetes: $* (${SECONDS} s)" >&2; }
fail() { echo "kubernetes: $*" >&2; exit 1; }

[ "$(uname -sm)" = 'Linux x86_64' ] || fail "it is built for Linux on x86_64 only, and this is $(uname -sm)"
for tool in apt-get dpkg-deb realpath tar gzip; do
  command -v "$tool" >/dev/null || fail "$tool is missing: run this on Debian, or in a Debian container"
done
[ -f "$keyring" ] || fail "$keyring is missing: install the package debian-archive-keyring"

mirror=${DEBIAN_MIRROR:-$(apt-get update --print-uris 2>/dev/null |
  sed -nE "s#^'(.*/debian)/dists/[a-z]+/InRelease'.*#\1#p" | sed -n 1p)}
[ -n "$mirror" ] || fail 'apt knows no mirror of Debian here: set DEBIAN_MIRROR to the address of one'

# Built aside, then renamed: an interrupted or a parallel run never leaves half a Kubernetes behind.
mkdir -p "$(dirname "$folder")"
aside=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$aside"' EXIT
# First the command that runs ends, then the shell: nothing is written any more where it is removed.
trap 'exit 130' INT TERM HUP
mkdir -p "$aside"/apt/lists/partial "$aside"/apt/cache/archives/partial "$aside"/{debs,root,tmp} "$aside/kubernetes/bin"
touch "$aside/apt/status"
printf "%s [signed-by=$keyring] $mirror $suite main\n" deb deb-src >"$aside/apt/sources.list"
cat >"$aside/apt/conf" <<CONF
Dir::Etc::sourcelist "$aside/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$aside/apt/lists";
Dir::State::status "$aside/apt/status";
Dir::Cache "$aside/apt/cache";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
# What a machine does after its own updates, such as emptying its cache, is not done after these.
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
# Read last, so that it wins over the machine's own settings; those stay, since they may name a proxy.
own_apt() { apt-get -qq -c "$aside/apt/conf" "$@"; }

say "reading the package lists of $suite"
own_apt update || fail "the package lists of $suite could not be read; is the network there?"

say 'downloading its source, etcd, and the Go that compiles it'
(cd "$aside/debs" &&
  own_apt download etcd-server golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev &&
  own_apt source --download-only "kubernetes/$suite" >/dev/null) ||
  fail 'a package could not be downloaded; run this again'

say "unpacking $(du -sm "$aside/debs" | cut -f1) MB"
for package in "$aside"/debs/*.deb; do dpkg-deb -x "$package" "$aside/root"; done
source=$aside/go/src/k8s.io/kubernetes
mkdir -p "$source"
# Debian calls it 1.20.5+really1.20.2.
tar -xzf "$aside"/debs/kubernetes_*"$version".orig.tar.gz -C "$source" --strip-components=1 ||
  fail "$suite no longer has Kubernetes $version"
cd "$source"

# It was written for Go 1.15, and Debian has 1.19. Since 1.18 its reflect2 misreads maps, which Debian's does not,
reflect2=vendor/github.com/modern-go/reflect2
rm "$reflect2"/*.go "$reflect2"/*.s
cp "$aside/root/usr/share/gocode/src/github.com/modern-go/reflect2"/*.{go,s} "$reflect2"
rm -f "$reflect2"/*_test.go
# and a comparison in its validation takes "", 0 and false for null, so a custom resource that has one is refused.
zero='reflect.DeepEqual(reflect.Zero(reflect.TypeOf(data)), reflect.ValueOf(data))'
grep -rlF --include=type.go "$zero" vendor/github.com/go-openapi vendor/k8s.io/kube-openapi |
  xargs sed -i "s/data == nil || $zero/data == nil/"

# Nothing of the machine's own Go, and nothing from the network.
export GOROOT="$aside/root/usr/lib/go-1.19" GOPATH="$aside/go" GOCACHE="$aside/gocache" GOTMPDIR="$aside/tmp"
export GO111MODULE=off GOFLAGS='' GOENV=off GOPROXY=off CGO_ENABLED=0
go() { "$GOROOT/bin/go" "$@"; }

say 'generating the one source file that is not in the package'
go build -o "$aside/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen || fail 'its generator could not be built'
described=$(grep -rl --include='*.go' -e '+k8s:openapi-gen=' pkg staging/src/k8s.io |
  grep -v -e _test.go -e zz_generated -e code-generator -e sample-apiserver | xargs -n 1 dirname | sort -u |
  sed -e 's#^staging/src/#k8s.io/kubernetes/vendor/#' -e 's#^pkg/#k8s.io/kubernetes/pkg/#' | paste -sd ,)
PATH="$GOROOT/bin:$PATH" "$aside/openapi-gen" -i "$described" -p k8s.io/kubernetes/pkg/generated/openapi \
  -O zz_generated.openapi -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r /dev/null ||
  fail 'it could not be generated'

say 'compiling the API server'
named=$(printf -- '-X k8s.io/kubernetes/vendor/k8s.io/%s ' \
  {component-base,client-go/pkg}/version.git{Version=v$version,Major=1,Minor=20})
go build -tags providerless -ldflags "-s -w $named" -o "$aside/kubernetes/bin/kube-apiserver" ./cmd/kube-apiserver ||
  fail 'it could not be compiled; is there memory and disk enough?'
install -m 755 "$aside/root/usr/bin/etcd" "$aside/kubernetes/bin/etcd"
# Both run here, or nothing is kept.
built=$("$aside/kubernetes/bin/kube-apiserver" --version) && "$aside/kubernetes/bin/etcd" --version >/dev/null ||
  fail 'what was built does not run here'
echo "$built" >"$aside/kubernetes/version"
mv -T "$aside/kubernetes" "$folder" 2>/dev/null || [ -f "$folder/version" ] || fail "$folder is in the way: remove it"
say "ready in $folder, $(du -sm "$folder" | cut -f1) MB"
