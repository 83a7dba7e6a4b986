import type { RouteDetail } from './finding.ts'

/** The words of what was found on the way from a route to its URL: what is so, and what to do. */
export const renderRouteFinding = ({
  code,
  at,
  detail = '',
  other = '',
}: RouteDetail): readonly [message: string, fix: string] => {
  const reason = detail === '' ? '' : ` (${detail})`
  switch (code) {
    case 'RouteTerminating':
      return ['The route is being deleted.', 'Nothing; create it again to list it again.']
    case 'NoParentRefs':
      return ['The route names no parent, so no Gateway carries it.', 'Add a Gateway to spec.parentRefs.']
    case 'ParentKindUnsupported':
      return [`${at} is ${detail}, which gives no public URL.`, 'Attach the route to a Gateway or a ListenerSet.']
    case 'RouteStatusMissing':
      return [
        `No controller has answered for ${at} yet.`,
        'Wait; if it stays, check that the parent exists, that its section and port are right, and that its controller runs.',
      ]
    case 'RouteNotAccepted':
      return [
        `The controller has not accepted ${at}${reason}.`,
        'See the conditions in status.parents of the route and correct what they name.',
      ]
    case 'RouteStatusStale':
      return [
        `The status for ${at} speaks of an older version of the route.`,
        'Wait for the controller, or set discovery.staleStatus: warn if it never catches up.',
      ]
    case 'GatewayNotFound':
      return [
        `${at} leads to ${detail}, which does not exist.`,
        'Correct the name and namespace of the parent, or create the Gateway.',
      ]
    case 'ListenerSetNotFound':
      return [
        `${at} leads to ${detail}, which does not exist.`,
        'Correct the name and namespace of the parent, or create the ListenerSet.',
      ]
    case 'ParentUnreadable':
      return [
        `${at} leads to ${detail}, which could not be read.`,
        'Allow list on listenersets of gateway.networking.k8s.io; in files, correct the object.',
      ]
    case 'BackendUnreadable':
      return [`${at} refers to ${detail}, which could not be read.`, 'Correct the Service, or what it belongs to.']
    case 'GatewayNotAccepted':
      return [
        `${at} is not accepted by its controller${reason}.`,
        'See the conditions of the Gateway and correct what they name.',
      ]
    case 'GatewayAddressPending':
      return [
        `${at} has no address yet.`,
        'Wait for the load balancer, or set discovery.requireAddress: false if its address is never reported.',
      ]
    case 'ListenerSetNotAllowed':
      return [
        `${detail} does not let ${at} add listeners.`,
        'Set allowedListeners of the Gateway so that it selects the namespace of the ListenerSet.',
      ]
    case 'ListenerSetNotAccepted':
      return [`${at} is not accepted.`, 'See the conditions of the ListenerSet and correct what they name.']
    case 'ListenerNotMatched':
      return [
        `${detail} has no listener with the section and port of ${at}.`,
        'Correct sectionName and port of the parent.',
      ]
    case 'ListenerProtocolMismatch':
      return [
        `The ${at} speaks ${detail || 'no protocol'}, which carries no HTTPRoute.`,
        'Attach the route to an HTTP or HTTPS listener that terminates TLS.',
      ]
    case 'RouteKindNotAllowed':
      return [`The ${at} takes no HTTPRoutes.`, 'Add HTTPRoute to allowedRoutes.kinds of the listener.']
    case 'NamespaceNotAllowed':
      return [
        `The ${at} takes no routes from namespace ${detail}.`,
        'Set allowedRoutes.namespaces of the listener so that it includes that namespace.',
      ]
    case 'NamespaceUnknown':
      return [
        `The ${at} selects namespaces by label, and the labels of ${detail} could not be read.`,
        'Allow list on namespaces, or put the Namespace into the manifests.',
      ]
    case 'ListenerConflicted':
      return [`The ${at} conflicts with another listener.`, 'Give the listeners different ports or hostnames.']
    case 'ListenerNotAccepted':
      return [`The ${at} is not accepted.`, 'See the status of the listener and correct what it names.']
    case 'ListenerNotProgrammed':
      return [
        `The ${at} is not serving; often its certificate is missing.`,
        'See the status of the listener and correct what it names.',
      ]
    case 'HostnameNotMatched':
      return [
        `No hostname of the route fits ${detail}, the hostname of the ${at}.`,
        'Correct spec.hostnames of the route or the hostname of the listener.',
      ]
    case 'InvalidHostname':
      return [`"${detail}" in ${at} is no hostname.`, 'Use a DNS name; an address is not one.']
    case 'WildcardHostname':
      return [
        `The only hostname is ${detail}, and no address of ${at} is inside it.`,
        'Name a precise hostname, or set discovery.wildcardLabel.',
      ]
    case 'AddressUnusable':
      return [
        `The route has no hostname, and ${at} has no address that a client could use.`,
        'Name a hostname in the route or the listener.',
      ]
    case 'HostNotPublic':
      return [`${detail} at the ${at} cannot be reached by readers of the registry.`, 'Use a public hostname.']
    case 'HostShadowedByListener':
      return [
        `Requests for ${detail} do not reach the ${at}: another listener on that port is for ${other}.`,
        'Attach the route to that listener too, or choose another hostname.',
      ]
    case 'RuleRedirects':
      return [`${at} only redirects.`, 'Nothing, if another rule leads to the server.']
    case 'NoBackendRefs':
      return [
        `${at} has no backend, so it answers with an error.`,
        'Add the Service of the MCP server to its backendRefs.',
      ]
    case 'BackendWeightZero':
      return [`${at} (${detail}) has weight 0 and gets no requests.`, 'Give it a weight.']
    case 'BackendRedirects':
      return [`${at} (${detail}) only redirects.`, 'Remove the RequestRedirect filter of the backend.']
    case 'BackendKindUnsupported':
      return [
        `${at} is ${detail}; only a Service can be followed to an MCP server.`,
        'Refer to the Service of the MCP server.',
      ]
    case 'BackendRefNotPermitted':
      return [
        `${at} refers to ${detail} in another namespace, and no ReferenceGrant there permits it.`,
        'Create a ReferenceGrant in that namespace, from HTTPRoute of this one to Service.',
      ]
    case 'BackendNotFound':
      return [
        `${at} refers to ${detail}, which does not exist.`,
        'The Service of an MCPServer is mcp-NAME-proxy, of an MCPRemoteProxy mcp-NAME-remote-proxy, of a VirtualMCPServer vmcp-NAME.',
      ]
    case 'BackendExternalName':
      return [`${at} refers to ${detail}, an ExternalName Service.`, 'Refer to the Service of the MCP server.']
    case 'BackendPortNotFound':
      return [
        other === ''
          ? `${at} refers to ${detail} without a port.`
          : `${at} refers to port ${other} of ${detail}, which does not have it.`,
        'Use the port of the Service: 8080 for a proxy, 4483 for a VirtualMCPServer, unless it was changed.',
      ]
    case 'NoMcpBackend':
      return [
        `${at} leads to ${detail}, which belongs to no MCP resource.`,
        'Refer to the Service that the operator made for the MCP resource (mcp-NAME-proxy, mcp-NAME-remote-proxy, vmcp-NAME).',
      ]
    case 'McpResourceNotFound':
      return [
        `The MCP resource that owns ${detail} does not exist any more.`,
        'Wait for the Service to be deleted or made anew, or create the resource.',
      ]
    case 'McpResourceNotSelected':
      return [
        `${at} leads to ${detail}, which the source does not select.`,
        'Widen kubernetes.namespaces or kubernetes.labelSelector of the source.',
      ]
    case 'McpResourceOptedOut':
      return [
        `${at} leads to ${detail}, whose own registry-export is "false".`,
        'Remove that annotation from the resource.',
      ]
    case 'DirectUrlOverrides':
      return [
        `${detail} has a registry-url, which is published instead of the URL of the route.`,
        'Remove registry-url from the resource to publish the URL of the route.',
      ]
    case 'PathRegex':
      return [`${at} matches a regular expression, from which no URL can be told.`, 'Use a PathPrefix or Exact match.']
    case 'PathTypeUnsupported':
      return [`${at} has the path type ${detail}.`, 'Use a PathPrefix or Exact match.']
    case 'InvalidPath':
      return [
        `${at} has the path ${detail}, which does not survive in a URL.`,
        'Use a path that starts with / and has no empty or dotted parts.',
      ]
    case 'RequiresHeader':
      return [`${at} needs a header, which clients do not send.`, 'Add a match without headers.']
    case 'RequiresQueryParam':
      return [`${at} needs a query parameter, which clients do not send.`, 'Add a match without queryParams.']
    case 'RequiresMethod':
      return [
        `${at} is only for ${detail}; clients of this transport begin with another method.`,
        'Remove the method from the match.',
      ]
    case 'ShadowedByRule':
      return [`${at} (${detail}) is answered by another rule of the route.`, 'Give it a path of its own.']
    case 'ShadowedByRoute':
      return [`${detail} is answered by ${other}.`, 'Give the route a host or path of its own.']
    case 'TlsOnAddressHost':
      return [
        `${at} is https on a bare address, for which there is hardly a valid certificate.`,
        'Name a hostname in the route or the listener.',
      ]
    case 'ClusterLocalGateway':
      return [`${at} only has addresses inside the cluster.`, 'Nothing, if something else in front of it is public.']
    case 'ClientCertificateRequired':
      return [`${at} asks clients for a certificate.`, 'Tell users of the server how to get one.']
    case 'RouteResolvedRefsFalse':
      return [
        `The controller could not resolve all references of the route on ${at}.`,
        'See the condition ResolvedRefs in its status.',
      ]
    case 'RoutePartiallyInvalid':
      return [
        `The controller dropped a part of the route on ${at}.`,
        'See the condition PartiallyInvalid in its status.',
      ]
    case 'GatewayNotProgrammed':
      return [`${at} as a whole is not programmed, but this listener is.`, 'See the conditions of the Gateway.']
    case 'ListenerStatusUnknown':
      return [`There is no status for the ${at}.`, 'Nothing, if it serves; its controller does not report it.']
    case 'MultipleMcpBackends':
      return [
        `${at} leads to several MCP resources; the heaviest, ${detail}, is listed.`,
        'Use one route or rule for each server.',
      ]
    case 'MixedBackends':
      return [
        `A part of the requests to ${at} goes to backends that are no listed MCP resource.`,
        'Give the server a rule of its own.',
      ]
    case 'MethodRestricted':
      return [`${at} is only for ${detail}.`, 'Remove the method from the match: clients also use others.']
    case 'ExtensionFilter':
      return [
        `${at} has a filter of its implementation, which may change anything.`,
        'Nothing, if it leaves the path alone.',
      ]
    case 'EndpointPathUnreachable':
      return at === 'registry-path'
        ? [
            `registry-path (${detail}) is answered by no rule that leads to a server; the matched path is used.`,
            'Correct registry-path, or remove it.',
          ]
        : [
            `${other}, the path of the transport, cannot be reached through ${at}; the matched path ${detail} is used.`,
            'Match the path of the transport, or rewrite the prefix to /.',
          ]
    case 'SseEndpointPrefixMismatch':
      return [
        `${at} strips a prefix, and ${detail} sends its clients to a path without it.`,
        'Set spec.endpointPrefix or spec.trustProxyHeaders of the MCPServer.',
      ]
    case 'GatewayAssumed':
      return [
        `${at} leads to ${detail}, of which no listeners are known; https on port 443 was assumed.`,
        'Put the Gateway into the manifests, or read a live dump with --as cluster.',
      ]
    case 'ServiceAssumed':
      return [
        `${detail} is not among the manifests; by its name it was taken for that of ${other}.`,
        'Nothing for manifests that were never applied; read a live dump with --as cluster.',
      ]
    default:
      return code satisfies never
  }
}
