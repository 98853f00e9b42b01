/** A list of revoked certificates in its two forms: Node reads PEM, and etcd DER. */

const HEAD = '-----BEGIN X509 CRL-----'
const FOOT = '-----END X509 CRL-----'
const LINE = /.{1,64}/g

export const derOf = (pem: string): Buffer => Buffer.from(pem.replace(HEAD, '').replace(FOOT, ''), 'base64')

export const pemOf = (der: Uint8Array): string =>
  `${[HEAD, ...(Buffer.from(der).toString('base64').match(LINE) ?? []), FOOT].join('\n')}\n`
