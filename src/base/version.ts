import { createRequire } from 'node:module'

const { version }: { readonly version: string } = createRequire(import.meta.url)('../../package.json')

/** The version in package.json. */
export const VERSION = version
