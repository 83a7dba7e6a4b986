/** Where each object lies below the prefix of the store. */
export const INDEX_KEY = 'index.json'
export const RETENTION_KEY = 'retention.json'
export const PROBE_KEY = 'probe.json'
/** Nothing is ever stored here. */
export const NEVER_KEY = 'never.json'

export const registryKeys = (registry: string) => ({
  folder: registry,
  pointer: `${registry}/current.json`,
  report: `${registry}/report.json`,
  manifest: (publication: string): string => `${registry}/publications/${publication}/manifest.json`,
  columns: (publication: string): string => `${registry}/publications/${publication}/columns`,
  findings: (publication: string): string => `${registry}/publications/${publication}/findings.json`,
  chunk: (digest: string): string => `${registry}/chunks/${digest}`,
  state: (digest: string): string => `${registry}/states/${digest}`,
})

export const sourceKeys = (source: string) => ({
  folder: `sources/${source}`,
  state: `sources/${source}/state.json`,
  result: (digest: string): string => `sources/${source}/${digest}`,
})
