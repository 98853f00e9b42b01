import type { ErrorPage, Maintenance } from '../../model/l7-settings.ts'
import { bodyOf, type Line, quoted } from './statement.ts'

const HTML = 'text/html; charset=utf-8'
const MAINTAINED =
  '<!doctype html><title>Maintenance</title><h1>We are at work on this site</h1><p>Please try again later.\n'

/** The header of HAProxy's own pages: caches may keep the answer of some statuses, such as 404, without being told. */
export const AS_OWN = ' hdr Cache-Control no-cache'

/** Returns content type and text of an answer, with a leading space; HAProxy accepts no empty text. */
export const payloadOf = (contentType: string, text: string): string =>
  text === '' ? '' : ` content-type ${quoted(contentType)} string ${bodyOf(text)}`

/** Returns the page for a status; undefined if there is none. */
export const pageOf = (errorPages: readonly ErrorPage[] = [], status: number): string | undefined => {
  const known = errorPages.find((one) => one.status === status)
  return known === undefined ? undefined : payloadOf(HTML, known.page)
}

/** The settings of a frontend or backend for answers of its own. */
interface Answering {
  readonly mode: 'http' | 'tcp'
  readonly maintenance?: Maintenance
  readonly errorPages?: readonly ErrorPage[]
}

export function answerLines(
  { mode, maintenance, errorPages = [] }: Answering,
  kind: 'frontend' | 'backend',
): readonly Line[] {
  const isServed = maintenance?.enabled !== true
  if (mode === 'tcp') {
    // A frontend rejects before TLS.
    const what = kind === 'frontend' ? 'connection' : 'content'
    return isServed ? [] : [[`tcp-request ${what} reject`, 'maintenance']]
  }
  const pages = errorPages.map(({ status, page }, at): Line => [
    `http-error status ${status}${payloadOf(HTML, page)}${AS_OWN}`,
    `errorPages.${at}`,
  ])
  if (isServed) return pages
  const { status = 503, page = MAINTAINED } = maintenance
  const answer = `return status ${status}${payloadOf(HTML, page)} hdr Cache-Control no-store`
  return [...pages, [`http-request ${answer}`, 'maintenance']]
}
