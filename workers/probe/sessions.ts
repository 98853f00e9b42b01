import { sendCommand } from '../host/control-socket.ts'

const TIMEOUT_MS = 5000
/** `show stat` of frontends only. */
const REQUEST = 'show stat -1 1 -1'

/** Returns the current connections of these HAProxy frontends; 0 when HAProxy does not run. */
export async function readSessions(socket: string, frontends: readonly string[]): Promise<number> {
  try {
    return countSessions(await sendCommand(socket, REQUEST, TIMEOUT_MS), frontends)
  } catch {
    return 0
  }
}

export function countSessions(csv: string, frontends: readonly string[]): number {
  const [header = '', ...rows] = csv.split('\n')
  const columns = header.replace(/^# /, '').split(',')
  const [name, sessions] = [columns.indexOf('pxname'), columns.indexOf('scur')]
  return rows
    .map((row) => row.split(','))
    .filter((row) => frontends.includes(row[name] ?? ''))
    .reduce((total, row) => total + (Number(row[sessions]) || 0), 0)
}
