/** The `discovery` part of the configuration. */
export type DiscoveryOptions = {
  readonly naming: string
  readonly requireExportAnnotation: boolean
  readonly requireReady: boolean
  readonly missingDescription: 'auto' | 'skip' | 'generate'
  readonly versionFrom: 'annotation' | 'image'
  readonly allowPrivateEndpoints: boolean
}
