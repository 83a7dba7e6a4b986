import { canonicalJson } from './canonical-json.ts'
import { compareBy, compareText } from './order.ts'
import type { Subject } from './resource.ts'
import { type FindingClass, type FindingEffect, ROUTE_CODES, type RouteCode } from './route-codes.ts'

/** Which field an endpoint came from. */
export type EndpointField = 'registry-url' | 'spec.remoteUrl'
export type UrlProblem =
  | 'relative'
  | 'scheme'
  | 'credentials'
  | 'host'
  | 'fragment'
  | 'controlCharacter'
  | 'tooLong'
  | 'insecure'
export type HostRange = 'loopback' | 'linkLocal' | 'metadata' | 'clusterInternal' | 'reserved' | 'private'

/** `at` is the place in the route, or the object behind it; `detail` what was found there, `other` what it met. */
export type RouteDetail = {
  readonly code: RouteCode
  readonly at: string
  readonly detail?: string
  readonly other?: string
}

/** What each code needs to say its sentence. Never a secret, never a URL that was refused. */
export type FindingDetail =
  | RouteDetail
  | { readonly code: 'DocumentUnreadable'; readonly document: number; readonly problem: string }
  | { readonly code: 'NotAManifest'; readonly document: number }
  | { readonly code: 'NothingToRead' }
  | { readonly code: 'KindUnknown' }
  | { readonly code: 'SourceUnused' }
  | { readonly code: 'ClaimsUnsupported'; readonly of: 'source' | 'registry' }
  | { readonly code: 'ResourceInvalid'; readonly file?: string; readonly field: string; readonly problem: string }
  | { readonly code: 'ResourceDuplicated'; readonly copies: number }
  | { readonly code: 'NotSelected'; readonly by: 'namespaces' | 'labelSelector' }
  | { readonly code: 'NotExported' }
  | { readonly code: 'ExportValueInvalid'; readonly value: string }
  | { readonly code: 'ExportAnnotationMissing' }
  | { readonly code: 'ResourceTerminating' }
  | { readonly code: 'ClaimsInvalid'; readonly problem: string }
  | { readonly code: 'ClaimsRestricted' }
  | { readonly code: 'EntryNotValid'; readonly phase?: string; readonly condition?: string }
  | { readonly code: 'NotReady'; readonly phase?: string }
  | { readonly code: 'StatusAssumed'; readonly at?: string }
  | { readonly code: 'RouteWithoutUrl'; readonly route: string }
  | { readonly code: 'PendingGrace'; readonly url: string; readonly until: string }
  | { readonly code: 'KindNotInstalled'; readonly kind: string }
  | { readonly code: 'KindDenied'; readonly kind: string; readonly rules?: readonly string[] }
  | { readonly code: 'SourceFailed'; readonly problem: string }
  | { readonly code: 'SourceStale'; readonly problem: string; readonly observedAt: string }
  | {
      readonly code: 'ShrinkRefused'
      readonly lost: number
      readonly active: number
      readonly examples: readonly string[]
    }
  | { readonly code: 'NameInvalid'; readonly wanted: string }
  | { readonly code: 'TransportInvalid'; readonly field: string; readonly value?: string }
  | { readonly code: 'EndpointMissing' }
  | { readonly code: 'EndpointInvalid'; readonly field: EndpointField; readonly problem: UrlProblem }
  | {
      readonly code: 'EndpointNotPublic'
      readonly field: EndpointField
      readonly host: string
      readonly range: HostRange
    }
  | { readonly code: 'ExternalAuthMultiUpstream'; readonly config: string }
  | { readonly code: 'DescriptionMissing' }
  | { readonly code: 'UrlConflict'; readonly url: string; readonly holder: Subject }
  | { readonly code: 'NameConflict'; readonly wanted: string; readonly listedAs?: string; readonly holder?: Subject }
  | { readonly code: 'DescriptionTruncated'; readonly length: number }
  | { readonly code: 'AnnotationInvalid'; readonly annotation: string; readonly problem: string }
  | { readonly code: 'HeaderNameInvalid'; readonly header: string; readonly count: number }
  | { readonly code: 'EntryTooLarge'; readonly bytes: number; readonly dropped: readonly string[] }
  | { readonly code: 'ReferenceNotFound' | 'ReferenceUnreadable'; readonly kind: string; readonly name: string }
  | { readonly code: 'InsecureScheme'; readonly url: string }
  | { readonly code: 'PrivateAddress'; readonly url: string }
  | { readonly code: 'PrivateCertificateAuthority' }

export type FindingCode = FindingDetail['code']

/** A fact that the owner of a resource should know. Words are added last, by `renderFinding`. */
export type Finding = FindingDetail & {
  readonly class: FindingClass
  readonly effect: FindingEffect
  readonly subject: Subject
  readonly registry?: string
  readonly decisive?: true
}

/** Class and usual effect of each code, in the order in which obstacles are to be removed. Codes are never renamed. */
export const FINDING_CODES = {
  DocumentUnreadable: ['invalid', 'skipped'],
  ResourceInvalid: ['invalid', 'skipped'],
  NotSelected: ['info', 'none'],
  NotExported: ['info', 'none'],
  ResourceTerminating: ['info', 'skipped'],
  ...ROUTE_CODES,
  SourceUnused: ['info', 'skipped'],
  ClaimsUnsupported: ['denied', 'skipped'],
  ClaimsInvalid: ['denied', 'skipped'],
  ClaimsRestricted: ['denied', 'skipped'],
  RouteWithoutUrl: ['info', 'none'],
  EndpointMissing: ['invalid', 'skipped'],
  EndpointInvalid: ['invalid', 'skipped'],
  EndpointNotPublic: ['denied', 'skipped'],
  TransportInvalid: ['invalid', 'skipped'],
  EntryNotValid: ['invalid', 'skipped'],
  ExternalAuthMultiUpstream: ['invalid', 'skipped'],
  NameInvalid: ['invalid', 'skipped'],
  DescriptionMissing: ['invalid', 'skipped'],
  NotReady: ['pending', 'skipped'],
  UrlConflict: ['denied', 'skipped'],
  NameConflict: ['info', 'skipped'],
  ExportValueInvalid: ['invalid', 'none'],
  ExportAnnotationMissing: ['invalid', 'none'],
  ResourceDuplicated: ['invalid', 'degraded'],
  DescriptionTruncated: ['invalid', 'degraded'],
  AnnotationInvalid: ['invalid', 'degraded'],
  HeaderNameInvalid: ['invalid', 'degraded'],
  EntryTooLarge: ['invalid', 'degraded'],
  ReferenceNotFound: ['notFound', 'degraded'],
  ReferenceUnreadable: ['invalid', 'degraded'],
  StatusAssumed: ['info', 'none'],
  PendingGrace: ['info', 'none'],
  ShrinkRefused: ['denied', 'degraded'],
  SourceFailed: ['pending', 'degraded'],
  SourceStale: ['pending', 'degraded'],
  KindDenied: ['denied', 'degraded'],
  KindNotInstalled: ['info', 'none'],
  InsecureScheme: ['info', 'none'],
  PrivateAddress: ['info', 'none'],
  PrivateCertificateAuthority: ['info', 'none'],
  NotAManifest: ['info', 'none'],
  KindUnknown: ['info', 'none'],
  NothingToRead: ['info', 'none'],
} as const satisfies Record<FindingCode, readonly [FindingClass, FindingEffect]>

/** Nobody asked for its subject to be listed: people and reports get only a count of these. */
export const isQuiet = ({ code }: Finding): boolean => code === 'NotExported' || code === 'NotSelected'

/** `effect` and `findingClass` only where a code has two, such as a missing description that was generated. */
export const findingOf = (
  subject: Subject,
  detail: FindingDetail,
  effect?: FindingEffect,
  findingClass?: FindingClass,
): Finding => {
  const [usualClass, usualEffect] = FINDING_CODES[detail.code]
  return { ...detail, class: findingClass ?? usualClass, effect: effect ?? usualEffect, subject }
}

const subjectOrder = compareBy<Subject>(
  (a, b) => compareText(a.source, b.source),
  (a, b) => compareText(a.kind, b.kind),
  (a, b) => compareText(a.namespace, b.namespace),
  (a, b) => compareText(a.name, b.name),
)

/** Total: two findings that compare equal are equal. */
export const compareFindings = compareBy<Finding>(
  (a, b) => subjectOrder(a.subject, b.subject),
  (a, b) => compareText(a.code, b.code),
  (a, b) => compareText(canonicalJson(a), canonicalJson(b)),
)
