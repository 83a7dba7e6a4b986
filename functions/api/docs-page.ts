import type { ApiResponse, OpenApiDocument, Operation, Parameter, Ref } from './openapi.ts'

type Html = { readonly html: string }

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/** Whatever is put into a template is escaped, unless a template made it: no text of a document can become markup. */
const html = (parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html => ({
  html: String.raw(
    { raw: parts },
    ...values.map((value) =>
      typeof value === 'string' ? escaped(value) : [value].flat().reduce((all, each) => all + each.html, ''),
    ),
  ),
})

/** A sentence with `code` in it. */
const prose = (text: string): readonly Html[] =>
  text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))

const isRef = (value: object): value is Ref => '$ref' in value
const lastOf = ({ $ref }: Ref): string => $ref.slice($ref.lastIndexOf('/') + 1)

const parametersOf = ({ components }: OpenApiDocument, { parameters = [] }: Operation): readonly Parameter[] =>
  parameters.flatMap((each) => components.parameters[lastOf(each)] ?? [])

const responseOf = ({ components }: OpenApiDocument, response: ApiResponse | Ref): ApiResponse | undefined =>
  isRef(response) ? components.responses[lastOf(response)] : response

/** A request that can be pasted into a shell: path and query of the examples. */
const commandOf = (path: string, parameters: readonly Parameter[]): string => {
  const [inPath, inQuery] = (['path', 'query'] as const).map((place) =>
    parameters
      .filter(({ in: at, example }) => at === place && example !== undefined)
      .map(({ name, example }) => [name, encodeURIComponent(String(example))] as const),
  )
  const address = (inPath ?? []).reduce((text, [name, value]) => text.replace(`{${name}}`, () => value), path)
  const query = (inQuery ?? []).map((pair) => pair.join('=')).join('&')
  return `curl "$REGISTRY${address}${query && `?${query}`}"`
}

const rangeOf = ({ schema }: Parameter): string => {
  const { type, format, minimum, maximum, default: otherwise } = schema
  return [
    String(format ?? type),
    ...(minimum === undefined ? [] : [`${minimum} to ${maximum}`]),
    ...(otherwise === undefined ? [] : [`default ${otherwise}`]),
  ].join(', ')
}

const parameterTable = (parameters: readonly Parameter[]): Html => html`<table>
<caption>Parameters</caption>
<thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Value</th><th scope="col">Meaning</th></tr></thead>
<tbody>${parameters.map(
  (each) =>
    html`<tr><th scope="row"><code>${each.name}</code></th><td>${each.in}</td><td>${rangeOf(each)}</td><td>${prose(each.description)}</td></tr>
`,
)}</tbody>
</table>
`

const endpoint = (document: OpenApiDocument, path: string, operation: Operation): Html => {
  const parameters = parametersOf(document, operation)
  const answers = Object.entries(operation.responses).map(([status, response]) => {
    const { description = '', content = {} } = responseOf(document, response) ?? {}
    const [type] = Object.keys(content)
    return html`<dt>${status}</dt><dd>${prose(description)}${type === undefined ? '' : html` <code>${type}</code>`}</dd>
`
  })
  return html`<section aria-labelledby="${operation.operationId}">
<h3 id="${operation.operationId}"><code>GET ${path}</code></h3>
<p>${prose(operation.description)}</p>
<pre><code>${commandOf(path, parameters)}</code></pre>
${parameters.length === 0 ? '' : parameterTable(parameters)}<details><summary>Answers<span class="unseen"> of ${path}</span></summary>
<dl>${answers}</dl>
</details>
</section>
`
}

const STYLE = `:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;--shade:#f3f5f7;--line:#d0d7de;--link:#0550ae}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--paper:#0d1117;--shade:#161b22;--line:#30363d;--link:#79c0ff}}
body{margin:0 auto;padding:1.5rem;max-width:56rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
a{color:var(--link)}h2{margin-top:3rem}h3{margin:2.5rem 0 .5rem;font-size:1.05rem}p{margin:.5rem 0}
code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}nav ul{padding:0;list-style:none}
pre{padding:.75rem;background:var(--shade);border:1px solid var(--line);border-radius:.4rem;white-space:pre-wrap}
table{width:100%;border-collapse:collapse;font-size:.9rem}caption{text-align:left;color:var(--soft)}
th,td{padding:.35rem .75rem .35rem 0;border-top:1px solid var(--line);text-align:left;vertical-align:top}
dt{float:left;font-weight:600}dd{margin:0 0 .35rem 3rem}details{margin:.5rem 0;font-size:.9rem}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}`

/** The document for people: one page that needs no script and nothing from elsewhere. */
export const docsPage = (document: OpenApiDocument): string => {
  const { info, tags, paths } = document
  const groups = tags.map(({ name, description }) => ({
    name,
    description,
    entries: Object.entries(paths).filter(([, { get }]) => get.tags?.includes(name)),
  }))
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${info.title} API</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<header>
<h1>${info.title} API</h1>
<p>${prose(info.description)}</p>
<p>For machines: <a href="openapi.json">openapi.json</a>, <a href="openapi.yaml">openapi.yaml</a>. The examples expect the address of this registry:</p>
<pre><code>REGISTRY=https://registry.example.com</code></pre>
</header>
<nav aria-label="Endpoints">
<ul>${groups.flatMap(({ entries }) =>
    entries.map(
      ([path, { get }]) => html`<li><a href="#${get.operationId}"><code>${path}</code></a></li>
`,
    ),
  )}</ul>
</nav>
<main>
${groups.map(
  ({ name, description, entries }) => html`<h2>${name}</h2>
<p>${prose(description)}</p>
${entries.map(([path, { get }]) => endpoint(document, path, get))}`,
)}</main>
</body>
</html>
`.html
}
