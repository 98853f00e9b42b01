import { mkdirSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

/**
 * One daemon per state folder. The lock is an abstract socket named after the folder's inode: the kernel gives it to
 * one process and takes it back when that process dies, however it dies, so there is never a stale lock to clean up.
 * The name is longer than any that a health check could bind in its sandbox (28 bytes with the family).
 */
export function lockState(folder: string): Promise<Server> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { dev, ino } = statSync(folder)
  const server = createServer((connection) => connection.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', () => reject(new Error(`another daemon is using the state folder ${folder}`)))
    server.listen(`\0fulcrum-daemon-of-state-folder-${dev}-${ino}`, () => {
      server.unref()
      resolve(server)
    })
  })
}
