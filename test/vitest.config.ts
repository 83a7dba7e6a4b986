import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    // Generous: nothing here is a timed test.
    testTimeout: 60_000,
  },
})
