type YamlError = {
  readonly code: string
  readonly linePos?: readonly { readonly line: number; readonly col: number }[] | undefined
}

/** What is wrong and where, in words of ours: those of the parser repeat the text, which may be a Secret. */
export const yamlProblem = ({ code, linePos }: YamlError): string => {
  const [start] = linePos ?? []
  if (code === 'RESOURCE_EXHAUSTION') return 'it is nested too deeply'
  return `${code.toLowerCase().replaceAll('_', ' ')}${start === undefined ? '' : ` at line ${start.line}, column ${start.col}`}`
}
