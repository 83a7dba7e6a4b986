import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where test servers are kept between runs. Not a WAYPOST_ variable: those are settings of the product. */
export const cacheFolder = (name: string): string =>
  join(process.env.TEST_SERVERS_CACHE || join(homedir(), '.cache', 'waypost'), name)
