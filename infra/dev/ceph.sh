#!/usr/bin/env bash
# Unpacks a Ceph (mon, osd, radosgw and every library they load) from Debian packages into one folder, once. Nothing is
# installed, no service is started, and the state of the machine's own apt stays as it is.
#   infra/dev/ceph.sh FOLDER      prints progress; FOLDER/version names what was unpacked
# DEBIAN_MIRROR  where to download from; by default the mirror that this machine's apt uses
# CEPH_SUITE     which Debian; by default forky with Ceph 20, the first whose conditional writes are whole
set -euo pipefail

folder=$(realpath -m "${1:?usage: infra/dev/ceph.sh FOLDER}")
suite=${CEPH_SUITE:-forky}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ -f "$folder/version" ] && exit 0
say() { echo "ceph: $* (${SECONDS} s)" >&2; }
fail() { echo "ceph: $*" >&2; exit 1; }

[ "$(uname -sm)" = 'Linux x86_64' ] || fail "its packages are unpacked for Linux on x86_64 only, and this is $(uname -sm)"
for tool in apt-get dpkg-deb realpath; do
  command -v "$tool" >/dev/null || fail "$tool is missing: run this on Debian, or in a Debian container"
done
[ -f "$keyring" ] || fail "$keyring is missing: install the package debian-archive-keyring"

mirror=${DEBIAN_MIRROR:-$(apt-get update --print-uris 2>/dev/null |
  sed -nE "s#^'(.*/debian)/dists/[a-z]+/InRelease'.*#\1#p" | head -n 1)}
[ -n "$mirror" ] || fail 'apt knows no mirror of Debian here: set DEBIAN_MIRROR to the address of one'

# Unpacked aside, then renamed: an interrupted or a parallel run never leaves half a Ceph behind.
mkdir -p "$(dirname "$folder")"
aside=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$aside"' EXIT
mkdir -p "$aside"/apt/lists/partial "$aside"/apt/cache/archives/partial "$aside/debs" "$aside/ceph/root"
touch "$aside/apt/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$aside/apt/sources.list"
cat >"$aside/apt/conf" <<CONF
Dir::Etc::sourcelist "$aside/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$aside/apt/lists";
Dir::State::status "$aside/apt/status";
Dir::Cache "$aside/apt/cache";
APT::Architecture "amd64";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
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

# Of everything these depend on, only the libraries are ever loaded. The C library comes along, so any Linux will do.
wanted=$(own_apt install -y --print-uris radosgw ceph-mon ceph-osd |
  sed -nE "s/^'[^']*' ([^_]+)_.*/\1/p" |
  grep -E '^(radosgw|ceph|lib)' | grep -vE '^lib(python|perl|apt|systemd-shared|cryptsetup|lvm)')
say "downloading $(wc -w <<<"$wanted") packages"
# shellcheck disable=SC2086
(cd "$aside/debs" && own_apt download $wanted) || fail 'a package could not be downloaded; run this again'

say "unpacking $(du -sm "$aside/debs" | cut -f1) MB"
for package in "$aside"/debs/*.deb; do dpkg-deb -x "$package" "$aside/ceph/root"; done
rm -rf "$aside"/ceph/root/usr/share/{doc,man,locale}
basename "$aside"/debs/radosgw_*.deb >"$aside/ceph/version"
mv -T "$aside/ceph" "$folder" 2>/dev/null || [ -f "$folder/version" ] || fail "$folder is in the way: remove it"
say "ready in $folder, $(du -sm "$folder" | cut -f1) MB"
