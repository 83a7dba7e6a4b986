import type { Pointer } from '../model/publication.ts'

/** `write`: the document changed. `note`: only the state did. `keep`: neither, or a rollback holds what is there. */
export type PublicationPlan =
  | { readonly action: 'write' | 'note' }
  | { readonly action: 'keep'; readonly isHeld: boolean }

export const planPublication = (
  previous: Pointer | undefined,
  next: { readonly document: string; readonly state: string; readonly input: string },
): PublicationPlan => {
  if (previous?.heldInput !== undefined && previous.heldInput === next.input) return { action: 'keep', isHeld: true }
  if (previous?.document !== next.document) return { action: 'write' }
  return previous.state === next.state ? { action: 'keep', isHeld: false } : { action: 'note' }
}
