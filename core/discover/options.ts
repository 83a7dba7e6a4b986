/** What is known of the load balancer in front of a Gateway. Ports are by the port of the listener. */
export type GatewayOverride = {
  readonly scheme?: 'https' | 'http' | undefined
  readonly ports?: Readonly<Record<string, number>> | undefined
  readonly wildcardLabel?: string | undefined
}

/** The `discovery` part of the configuration. */
export type DiscoveryOptions = {
  readonly naming: string
  readonly requireExportAnnotation: boolean
  readonly requireReady: boolean
  readonly missingDescription: 'auto' | 'skip' | 'generate'
  readonly versionFrom: 'annotation' | 'image'
  readonly endpoint: 'base' | 'transport'
  readonly allowPrivateEndpoints: boolean
  readonly staleStatus: 'pending' | 'warn'
  readonly requireAddress: boolean
  readonly wildcardLabel: string
  /** By namespace and name: `gateway-system/external`. */
  readonly gateways: Readonly<Record<string, GatewayOverride>>
}
