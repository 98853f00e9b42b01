import { readFile } from 'node:fs/promises'
import { nameServersOf } from '../drivers/haproxy/host-names.ts'

const RESOLV_CONF = '/etc/resolv.conf'

/** Returns the name servers of this machine, read as the C library reads them. */
export async function readNameServers(): Promise<readonly string[]> {
  try {
    return nameServersOf(await readFile(RESOLV_CONF, 'utf8'))
  } catch {
    return nameServersOf('')
  }
}
