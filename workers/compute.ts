/** Tasks of the compute pool: work on bytes that would hold up the main thread. They touch nothing of the machine. */
import { parseLimited } from './compute/limited-json.ts'

export function parseJson(raw: Uint8Array): { readonly value: unknown } | undefined {
  return parseLimited(raw)
}
