import { createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../../storage/temporary-archive.ts'

/** A socket that answers each request line with what `answer` says; `undefined` keeps the asker waiting. */
export async function listen(t: Test, answer: (request: string) => string | undefined): Promise<string> {
  const path = join(temporaryFolder(t), 'haproxy.sock')
  const sockets = new Set<Socket>()
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      const text = answer(data.toString())
      if (text !== undefined) socket.end(text)
    })
  }).listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return path
}

export const STATS = '# pxname,svname,scur,stot,bin,bout,type,\nfe,FRONTEND,1,2,3,4,0,\n\n'

export function showProc(workers: readonly number[], old: readonly number[] = []): string {
  const line = (pid: number): string => `${pid} worker 0 0d00h01m00s 2.6.12`
  return [
    '#<PID> <type> <reloads> <uptime> <version>',
    '1 master 0 [failed: 0] 0d00h02m00s 2.6.12',
    '# workers',
    ...workers.map(line),
    ...(old.length > 0 ? ['# old workers', ...old.map(line)] : []),
    '# programs',
    '',
    '',
  ].join('\n')
}
