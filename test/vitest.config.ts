import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // On real servers, by `npm run test:stores` and `npm run test:cluster`.
    exclude: ['test/stores/**', 'test/cluster/**'],
    setupFiles: ['test/seed.ts'],
    // Generous: nothing here is a timed test.
    testTimeout: 60_000,
  },
})
