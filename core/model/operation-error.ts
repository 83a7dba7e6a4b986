/**
 * The world did not cooperate: network, permission, file, settings. The message names the thing, the cause and the
 * next step. A fact about someone's cluster is a Finding, never this.
 */
export class OperationError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OperationError'
    this.code = code
  }
}
