/** One document of a file, as it was read. An unreadable one is a fact to report, not a reason to stop. */
export type ManifestDocument = { readonly file: string; readonly document: number } & (
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly problem: string }
)

/** All documents under a path; `root` is how findings call the path itself. */
export type Manifests = { readonly root: string; readonly documents: readonly ManifestDocument[] }
