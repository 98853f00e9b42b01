import { createServer } from 'node:net'

export const NOT_PERMITTED = 'Permission denied'

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Address already in use',
  EADDRNOTAVAIL: 'Cannot assign requested address',
  EACCES: NOT_PERMITTED,
}

/**
 * Listens for a moment. HAProxy finds out at a reload only, and then stops listening everywhere for about a tenth of a
 * second to make sure that it is not in its own way: connections would be refused for a mistake in one frontend.
 */
export function portProblem(ip: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : ''
      resolve(REASONS[code] ?? error.message)
    })
    server.listen({ host: ip, port, exclusive: true, ipv6Only: true }, () => server.close(() => resolve(undefined)))
  })
}
