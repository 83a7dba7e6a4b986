import { isSameJson } from '../model/canonical-json.ts'
import type { Pointer } from '../model/publication.ts'

/** `write`: the document changed. `note`: only what is remembered did. `keep`: neither. `isHeld`: a rollback holds the document. */
export type PublicationPlan = { readonly action: 'write' | 'note' | 'keep'; readonly isHeld: boolean }

export const planPublication = (
  previous: Pointer | undefined,
  next: Pick<Pointer, 'document' | 'state' | 'input' | 'approvedLosses'>,
  /** Is every entry of the document that is served still there in what was compiled? */
  canHold: boolean,
): PublicationPlan => {
  const isApprovalSame = isSameJson(previous?.approvedLosses ?? [], next.approvedLosses ?? [])
  if (previous?.heldInput !== undefined && previous.heldInput === next.input && canHold)
    return { action: isApprovalSame ? 'keep' : 'note', isHeld: true }
  if (previous?.document !== next.document) return { action: 'write', isHeld: false }
  return { action: previous.state === next.state && isApprovalSame ? 'keep' : 'note', isHeld: false }
}
