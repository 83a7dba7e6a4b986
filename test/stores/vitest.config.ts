import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/stores/**/*.test.ts'],
    globalSetup: ['test/stores/global-setup.ts'],
    setupFiles: ['test/seed.ts'],
    // The servers run on the same machine: more at once would make them wait for each other until they give up.
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // What a developer is signed in to must not decide a test, and nobody is asked for a role.
    env: {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    },
  },
})
