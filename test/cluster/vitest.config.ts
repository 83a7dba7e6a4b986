import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/cluster/global-setup.ts'],
    setupFiles: ['test/seed.ts'],
    // The server runs on the same machine.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A developer's own clusters must not decide a test, and never see one.
    env: { KUBECONFIG: '/dev/null' },
  },
})
