import { type AcmeAccount, type AcmeOrder, HTTP_PORT } from '../../model/acme.ts'
import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { orderedNames, thumbprintOf } from '../../rules/acme.ts'
import { servedFrontends } from './resting.ts'
import { inLines, linesOf, quoted, type Statement } from './statement.ts'
import { holds, portRanges } from './tls.ts'
import { whyUnvalidated } from './tls-alpn.ts'

/** A token is base64url text; nothing else is echoed. */
const IS_CHALLENGE = `{ path -m reg ${quoted(String.raw`^/\.well-known/acme-challenge/[A-Za-z0-9_-]+$`)} }`
const TOKEN = '%[path,field(4,/)]'

const portOf = ({ httpPort = HTTP_PORT }: AcmeAccount): number => httpPort

/** Whether requests of the CA arrive at this frontend. */
const takesChallenges = (frontend: L7Frontend, account: AcmeAccount): boolean =>
  frontend.enabled &&
  frontend.mode === 'http' &&
  portRanges(frontend).some((range) => !range.isTls && holds(range, portOf(account)))

/** Returns why a CA would get no answer, in words that follow a field; undefined when it gets one. */
export function whyUnanswered(
  view: ConfigView,
  account: AcmeAccount,
  { challenge }: Pick<AcmeOrder, 'challenge'>,
): string | undefined {
  // Only the script knows whether the name servers will answer.
  if (challenge === 'dns-01') return undefined
  const frontends = servedFrontends(view)
  if (challenge === 'tls-alpn-01') return whyUnvalidated(frontends, account)
  if (frontends.some((frontend) => takesChallenges(frontend, account))) return undefined
  const port = portOf(account)
  const needed = `needs an enabled frontend in mode http with port ${port} without TLS, which the CA connects to: create one`
  // Of a frontend with TLS only this port can stay plain.
  return port === HTTP_PORT ? `${needed}, or add port 80 and httpRedirectToHttps to the frontend of the site` : needed
}

/**
 * Answers HTTP-01 for the ordered names, for any client and any token: the answer is the token followed by the
 * thumbprint of the account's key, which is no secret and never changes. So HAProxy need not learn about challenges,
 * and each node answers.
 */
export function challengeStatements(frontend: L7Frontend, view: ConfigView): readonly Statement[] {
  return [...orderedNames(view, 'http-01')]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([accountId, known]) => answersOf(frontend, view.get('acmeAccounts', accountId), [...known].toSorted()))
}

function answersOf(
  frontend: L7Frontend,
  account: AcmeAccount | undefined,
  names: readonly string[],
): readonly Statement[] {
  const thumbprint = account && thumbprintOf(account)
  if (account === undefined || thumbprint === undefined || !takesChallenges(frontend, account)) return []
  const line = linesOf('acmeAccounts', account.id)
  const isOurs = `acme-${account.id}`
  const acls = inLines(names, (some) => `acl ${isOurs} req.hdr(host),host_only,lower -m str -- ${some}`)
  const answer = `lf-string ${quoted(`${TOKEN}.${thumbprint}`)}`
  return [
    ...acls.map((text) => line(text)),
    line(`http-request return status 200 content-type text/plain ${answer} if ${IS_CHALLENGE} ${isOurs}`),
  ]
}
