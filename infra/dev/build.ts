import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { configJsonSchema } from '../../functions/config/config.ts'

// What the package ships: the command, and the schema of its configuration for editors.
const root = new URL('../..', import.meta.url).pathname
const dist = process.argv[2] ?? join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
const { metafile } = await build({
  entryPoints: { cli: join(root, 'functions/entry/cli.ts') },
  outdir: dist,
  bundle: true,
  // Without it the SDK of every store would be loaded by every command.
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node22',
  metafile: true,
})
chmodSync(join(dist, 'cli.js'), 0o755)
writeFileSync(join(dist, 'waypost.schema.json'), `${JSON.stringify(configJsonSchema(), null, 2)}\n`)
for (const [file, { bytes }] of Object.entries(metafile.outputs))
  console.log(`${file}  ${(bytes / 1024).toFixed(1)} KB`)
