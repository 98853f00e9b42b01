import { get } from 'node:https'
import { TLSSocket } from 'node:tls'
import type { Certificate } from '../model/certificates.ts'
import type { Address } from '../settings.ts'

const ANSWER_TIMEOUT_MS = 5_000

/** Rejects unless the listener answers a request, and presents this certificate if one is given. */
export function assertAnswers({ host, port }: Address, certificate: Certificate | undefined): Promise<void> {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return new Promise((resolve, reject) => {
    const request = get(
      // The certificate may be for other host names; only the answer matters.
      {
        host: reached,
        port,
        path: '/api/v1/ping',
        rejectUnauthorized: false,
        agent: false,
        timeout: ANSWER_TIMEOUT_MS,
      },
      (response) => {
        response.resume()
        const { socket } = response
        const shown = socket instanceof TLSSocket ? socket.getPeerCertificate().fingerprint256 : undefined
        if (certificate !== undefined && shown !== certificate.facts.fingerprint)
          reject(new Error(`https://${host}:${port} does not present the certificate ${certificate.name}`))
        else if (response.statusCode === 200) resolve()
        else reject(new Error(`https://${host}:${port} answers ${response.statusCode}`))
      },
    )
    request.on('timeout', () => request.destroy(new Error(`https://${host}:${port} does not answer`)))
    request.on('error', reject)
  })
}
