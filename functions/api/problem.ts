/** A request that gets no answer: which status, which stable code, and one sentence for whoever sent it. */
export type Problem = {
  readonly kind: 'problem'
  readonly status: 400 | 404 | 405 | 408 | 414 | 417 | 422 | 431 | 500 | 501 | 503
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
}

export const TITLES: Readonly<Record<Problem['status'], string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  422: 'Unprocessable Entity',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
}

export const problem = (
  status: Problem['status'],
  code: string,
  detail: string,
  headers?: Problem['headers'],
): Problem => ({ kind: 'problem', status, code, detail, ...(headers && { headers }) })

/** One body that satisfies the spec (`error`) and the official server (`title`, `status`, `detail`). */
export const problemJson = ({ status, code, detail }: Problem): string =>
  JSON.stringify({ title: TITLES[status], status, detail, error: detail, code })
