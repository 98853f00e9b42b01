import type { FieldProblem } from './api/refuse.ts'
import type { CertificateForm } from './model/certificates.ts'

/** The fields of a body that hold a certificate. Empty strings and empty arrays count as absent. */
export interface SentCertificate {
  readonly pem?: string | undefined
  readonly pfx?: string | undefined
  readonly cert?: string | undefined
  readonly privateKey?: string | undefined
  readonly otherCerts?: readonly string[] | undefined
}

/** The one form that was sent; undefined when none was; or what is wrong with what was sent. */
export function formOf(sent: SentCertificate): CertificateForm | undefined | readonly FieldProblem[] {
  const { pem = '', pfx = '', cert = '', privateKey = '' } = sent
  const otherCerts = (sent.otherCerts ?? []).filter((text) => text !== '')
  const parts = Object.entries({ cert, privateKey, otherCerts }).flatMap(([field, { length }]) =>
    length > 0 ? [field] : [],
  )
  const forms = [
    ...(pem === '' ? [] : [['pem']]),
    ...(pfx === '' ? [] : [['pfx']]),
    ...(parts.length > 0 ? [parts] : []),
  ]
  if (forms.length > 1) {
    return forms
      .flat()
      .map((field) => problem(field, 'is too much: send pem, or pfx, or cert with privateKey, and only one of them'))
  }
  if (pem !== '') return { form: 'pem', pem }
  if (pfx !== '') return { form: 'pfx', pfx }
  if (parts.length === 0) return undefined
  const missing = Object.entries({ cert, privateKey }).filter(([, text]) => text === '')
  if (missing.length > 0) return missing.map(([field]) => problem(field, 'is missing: cert and privateKey go together'))
  return { form: 'parts', cert, privateKey, otherCerts }
}

const problem = (field: string, message: string): FieldProblem => ({ field, code: 'INVALID_BODY', message })

export const NO_FORM: readonly FieldProblem[] = [
  problem('pem', 'is missing: send pem, or pfx, or cert with privateKey'),
]
