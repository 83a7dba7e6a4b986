import type { Finding, HostRange, UrlProblem } from './finding.ts'
import { renderRouteFinding } from './render-route-finding.ts'
import type { Subject } from './resource.ts'

export type Sentence = { readonly message: string; readonly fix: string }

const PREFIX = 'toolhive.stacklok.dev'
const say = (message: string, fix: string): Sentence => ({ message, fix })
const place = ({ kind, namespace, name }: Subject): string =>
  [kind, namespace, name].filter((part) => part !== '').join('/')

const URL_PROBLEMS: Record<UrlProblem, string> = {
  relative: 'is not an absolute URL',
  scheme: 'has a scheme other than http and https',
  credentials: 'contains a user name or a password, which everyone would read',
  host: 'has a host name with an empty part',
  fragment: 'has a fragment (#…), which never reaches a server',
  controlCharacter: 'contains white space or a control character',
  tooLong: 'is longer than 2048 characters',
  insecure: 'is plain http, and spec.insecureAllowHTTP is not true',
}

const HOST_RANGES: Record<HostRange, string> = {
  loopback: 'is the client itself',
  linkLocal: 'is a link-local address',
  metadata: 'is a cloud metadata service',
  clusterInternal: 'is a name that only works inside a cluster',
  reserved: 'is a reserved address',
  private: 'is a private address',
}

/** The words of a finding: what is so, and what to do. A code without a sentence does not compile. */
export const renderFinding = (finding: Finding): Sentence => {
  const at = finding.subject
  switch (finding.code) {
    case 'DocumentUnreadable':
      return say(
        `Document ${finding.document} of ${at.name} cannot be read: ${finding.problem}.`,
        'Correct the document; the others of the file were read.',
      )
    case 'NotAManifest':
      return say(
        `Document ${finding.document} of ${at.name} is no Kubernetes object: it has no apiVersion and kind.`,
        'Nothing, if it is meant for another tool; otherwise add apiVersion and kind.',
      )
    case 'NothingToRead':
      return say(
        `There is nothing to read in ${at.name}: no document in a .yaml, .yml or .json file.`,
        'Check the path given with --from, or what was to be written into the pipe.',
      )
    case 'SourceUnused':
      return say(
        `Source ${at.source} is in no registry, so nothing of it is listed.`,
        `Add ${at.source} to the sources of a registry, or remove it.`,
      )
    case 'ClaimsUnsupported':
      return say(
        `Claims restrict the ${finding.of} of ${place(at)}, and private registries are not built yet: it is not published in registry ${finding.registry}.`,
        `Remove the claims of the ${finding.of} to publish it to everyone, or wait for private registries.`,
      )
    case 'ResourceInvalid':
      return say(
        `${place(at)}${finding.file === undefined ? '' : ` in ${finding.file}`} cannot be read: ${finding.field} ${finding.problem}.`,
        finding.file === undefined
          ? `Correct ${finding.field}.`
          : `Correct ${finding.field}; an API server would refuse this object too.`,
      )
    case 'ResourceDuplicated':
      return say(
        `${place(at)} was given ${finding.copies} times with different content; one of them was taken.`,
        'Keep one copy, or read the rendered manifests of one environment.',
      )
    case 'NotSelected':
      return say(
        `${place(at)} is outside the ${finding.by} of source ${at.source}.`,
        `Nothing, if that is meant; otherwise change kubernetes.${finding.by} of the source.`,
      )
    case 'NotExported':
      return say(
        `${place(at)} does not ask to be listed.`,
        `To list it, set the annotation ${PREFIX}/registry-export: "true".`,
      )
    case 'ExportValueInvalid':
      return say(
        `The annotation registry-export is ${finding.value}; only the string "true" opts in.`,
        `Write ${PREFIX}/registry-export: "true", in quotes.`,
      )
    case 'ExportAnnotationMissing':
      return say(
        'There is a registry-url, but no registry-export: "true".',
        `Add ${PREFIX}/registry-export: "true", or set discovery.requireExportAnnotation: false.`,
      )
    case 'ResourceTerminating':
      return say(`${place(at)} is being deleted.`, 'Nothing; create it again to list it again.')
    case 'ClaimsInvalid':
      return say(
        `The annotation authz-claims ${finding.problem}, so nobody can be shown to satisfy it.`,
        'Write a JSON object whose values are strings or arrays of strings.',
      )
    case 'ClaimsRestricted':
      return say(
        `${place(at)} carries authz-claims and is never listed in a registry that everyone can read.`,
        'Remove the annotation authz-claims to list it for everyone.',
      )
    case 'EntryNotValid':
      return say(
        finding.condition === undefined
          ? `The phase of ${place(at)} is ${finding.phase}, not Valid or Ready.`
          : `${place(at)} has no phase, and its condition ${finding.condition} is not True.`,
        `See the conditions of ${place(at)} and correct what they name.`,
      )
    case 'NotReady':
      return say(
        finding.phase === undefined
          ? `${place(at)} has no status yet.`
          : `The phase of ${place(at)} is ${finding.phase}, not Ready.`,
        'Wait until it is ready, or set discovery.requireReady: false.',
      )
    case 'StatusAssumed':
      return say(
        `${finding.at ?? place(at)} has no status, and was taken to be healthy.`,
        'Nothing for manifests that were never applied; read a live dump with --as cluster.',
      )
    case 'NameInvalid':
      return say(
        `The name ${finding.wanted} is not a valid server name.`,
        'Give the resource a shorter name, or change discovery.naming: both halves have at least two characters and start and end alphanumeric, 200 in all.',
      )
    case 'TransportInvalid':
      return say(
        finding.value === undefined
          ? `${finding.field} is not set, and ${at.kind} has no default for it.`
          : `${finding.field} is ${finding.value}, which is no MCP transport.`,
        `Set ${finding.field} to streamable-http or sse${at.kind === 'MCPServer' ? ', or stdio' : ''}.`,
      )
    case 'EndpointMissing':
      return at.kind === 'MCPServerEntry'
        ? say(`${place(at)} is exported but has neither spec.remoteUrl nor a registry-url.`, 'Set spec.remoteUrl.')
        : say(
            `${place(at)} is exported but says no URL where a client reaches it.`,
            `Add the annotation ${PREFIX}/registry-url with its public URL.`,
          )
    case 'EndpointInvalid':
      return say(
        `${finding.field} ${URL_PROBLEMS[finding.problem]}.`,
        finding.problem === 'insecure'
          ? 'Use https, or set spec.insecureAllowHTTP: true.'
          : `Set ${finding.field} to an absolute http or https URL such as https://mcp.example.com/server.`,
      )
    case 'EndpointNotPublic':
      return say(
        `${finding.field} points to ${finding.host}, which ${HOST_RANGES[finding.range]}.`,
        finding.range === 'private'
          ? 'Use a public host, or set discovery.allowPrivateEndpoints: true where all readers can reach it.'
          : 'Use the host name under which clients reach the server.',
      )
    case 'ExternalAuthMultiUpstream':
      return say(
        `${place(at)} refers to MCPExternalAuthConfig ${finding.config}, which has several upstreams.`,
        'Refer to a configuration with one upstream.',
      )
    case 'DescriptionMissing':
      return finding.effect === 'skipped'
        ? say(
            `${place(at)} has no description.`,
            `Add the annotation ${PREFIX}/registry-description, or set discovery.missingDescription: generate.`,
          )
        : say(
            `${place(at)} has no description; a plain one was generated.`,
            `Add the annotation ${PREFIX}/registry-description.`,
          )
    case 'UrlConflict':
      return say(
        `${finding.url} is already the endpoint of ${place(finding.holder)}.`,
        'Give each server a URL of its own, or stop exporting one of the two.',
      )
    case 'NameConflict':
      return say(
        `The name ${finding.wanted} ${finding.holder === undefined ? 'was taken when this was first listed' : `belongs to ${place(finding.holder)}`}${finding.listedAs === undefined ? ', and so does every other name for this' : `; this is listed as ${finding.listedAs}`}.`,
        'Rename one of the two resources, or choose a discovery.naming that tells them apart.',
      )
    case 'DescriptionTruncated':
      return say(
        `The description has ${finding.length} characters and was cut to 100.`,
        'Shorten registry-description to 100 characters.',
      )
    case 'AnnotationInvalid':
      return say(
        `The annotation ${finding.annotation} ${finding.problem}.`,
        `Correct ${PREFIX}/${finding.annotation}; the rest of the entry is not affected.`,
      )
    case 'HeaderNameInvalid':
      return say(
        `${finding.header} is no HTTP header name and was left out${finding.count > 1 ? `, and ${finding.count - 1} more like it` : ''}.`,
        'Correct the name in spec.headerForward, or headerInjection.headerName.',
      )
    case 'EntryTooLarge':
      return finding.effect === 'skipped'
        ? say(
            `The entry has ${finding.bytes} bytes, more than 60000, even without what it can spare.`,
            'Shorten what it is made of; many headers or a very long image name, perhaps.',
          )
        : say(
            `The entry has ${finding.bytes} bytes, more than 60000; left out: ${finding.dropped.join(', ')}.`,
            'Shorten the annotations tools and tool-definitions, or lead fewer routes to the server.',
          )
    case 'ReferenceUnreadable':
      return say(
        `${place(at)} refers to ${finding.kind} ${finding.name}, which could not be read.`,
        `Correct the ${finding.kind}.`,
      )
    case 'KindUnknown':
      return say(`${place(at)} is of no kind that ToolHive has.`, 'Correct the kind, if it is misspelt.')
    case 'ReferenceNotFound':
      return say(
        `${place(at)} refers to ${finding.kind} ${finding.name}, which is not in namespace ${at.namespace}.`,
        `Create the ${finding.kind}, or correct the reference.`,
      )
    case 'InsecureScheme':
      return say(
        `${finding.url} is plain http: tokens that clients send there can be read on the way.`,
        'Serve it over https.',
      )
    case 'PrivateAddress':
      return say(
        `${finding.url} is a private address, reachable only from inside its network.`,
        'Nothing, if all readers of the registry are inside; otherwise use a public host.',
      )
    case 'PrivateCertificateAuthority':
      return say(
        `${place(at)} uses a certificate authority of its own, which clients do not trust by themselves.`,
        'Tell clients to trust that authority, or use a publicly trusted certificate.',
      )
    case 'RouteWithoutUrl':
      return say(
        `HTTPRoute ${finding.route} leads here but gives no URL.`,
        `See the findings of HTTPRoute/${finding.route}.`,
      )
    case 'PendingGrace':
      return say(
        `${finding.url} is listed until ${finding.until}, though its way is closed for the moment.`,
        'See the pending findings of the resource and its routes.',
      )
    case 'KindDenied':
      return say(
        `${finding.kind} may not be read, so what depends on it is judged without it.`,
        finding.rules === undefined
          ? `Allow list on ${finding.kind} objects.`
          : `Add to the role: ${finding.rules.join('; ')}.`,
      )
    case 'SourceFailed':
      return say(
        `Source ${at.name} could not be read, and never was: ${finding.problem}.`,
        'Mend what the sentence names; the next sync tries again.',
      )
    case 'SourceStale':
      return say(
        `Source ${at.name} is served as it was at ${finding.observedAt}: ${finding.problem}.`,
        'Mend what the sentence names; the next sync tries again.',
      )
    case 'ShrinkRefused':
      return say(
        `${finding.lost} of ${finding.active} servers of source ${at.name} have vanished (${finding.examples.join(', ')}${finding.lost > finding.examples.length ? ', …' : ''}), which is more than publish.maxShrink allows.`,
        'If they are meant to be gone, run waypost approve, or waypost sync --force; otherwise find out why the cluster does not show them.',
      )
    case 'KindNotInstalled':
      return say(`${finding.kind} is not installed in this cluster.`, 'Nothing, if it is not used.')
    default:
      return say(...renderRouteFinding(finding))
  }
}

/** A finding as data for others: with its words, and the fields that its code has. */
export const findingJson = (finding: Finding): Readonly<Record<string, unknown>> => {
  const { code, class: findingClass, effect, subject, decisive, ...rest } = finding
  return {
    code,
    class: findingClass,
    effect,
    subject,
    ...renderFinding(finding),
    ...(decisive && { decisive }),
    ...rest,
  }
}
