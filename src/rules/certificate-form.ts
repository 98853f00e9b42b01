import { type FieldProblem, problemIn } from '../base/errors.ts'
import type { CertificateForm } from '../model/certificates.ts'

/** The fields of a body that hold a certificate. Empty strings and empty arrays count as absent. */
export interface SentCertificate {
  readonly pem?: string | undefined
  readonly pfx?: string | undefined
  readonly cert?: string | undefined
  readonly privateKey?: string | undefined
  readonly otherCerts?: readonly string[] | undefined
}

/** Returns the forms that were sent, or their problems. All forms must hold the same certificate and key. */
export function formsOf(
  sent: SentCertificate,
): readonly CertificateForm[] | { readonly problems: readonly FieldProblem[] } {
  const { pem = '', pfx = '', cert = '', privateKey = '' } = sent
  const otherCerts = (sent.otherCerts ?? []).filter((text) => text !== '')
  const forms: CertificateForm[] = []
  if (pem !== '') forms.push({ form: 'pem', pem })
  if (pfx !== '') forms.push({ form: 'pfx', pfx })
  if (cert === '' && privateKey === '' && otherCerts.length === 0) return forms
  const missing = Object.entries({ cert, privateKey }).filter(([, text]) => text === '')
  if (missing.length > 0) {
    return { problems: missing.map(([field]) => problemIn(field, 'is missing: cert and privateKey go together')) }
  }
  return [...forms, { form: 'parts', cert, privateKey, otherCerts }]
}

/** Returns the problems with the forms of a new certificate; `unfit` names fields that do not match the schema. */
export function formProblems(sent: SentCertificate, unfit: ReadonlySet<string>): readonly FieldProblem[] {
  const forms = formsOf(sent)
  if ('problems' in forms) return forms.problems
  const isUnknown = ['pem', 'pfx', 'cert', 'privateKey', 'otherCerts'].some((field) => unfit.has(field))
  return forms.length > 0 || isUnknown ? [] : NO_FORM
}

/** Returns the field that represents a form in messages. */
export const fieldOf = ({ form }: CertificateForm): string => (form === 'parts' ? 'cert' : form)

/** Returns problems for forms that hold another certificate than the first. */
export const otherCertificate = (forms: readonly CertificateForm[]): readonly FieldProblem[] =>
  forms.map((form) =>
    problemIn(
      fieldOf(form),
      'contains another certificate than the other fields: send only one, in one form or in several',
    ),
  )

export const NO_FORM: readonly FieldProblem[] = [
  problemIn('pem', 'is missing: send pem, or pfx, or cert with privateKey'),
]
