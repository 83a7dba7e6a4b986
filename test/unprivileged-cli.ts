// The command as a user without rights: root, for whom every folder is writable, gives them up first.
if (process.getuid?.() === 0) {
  process.setgroups?.([])
  process.setgid?.(65534)
  process.setuid?.(65534)
}
await import('../functions/entry/cli.ts')
