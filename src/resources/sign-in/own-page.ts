/** Says whether a page of this address asks; no page can make it up. Programs that are no browser leave it out. */
export const SITE = 'sec-fetch-site'

/** The admin page is the only page of this address that asks for sessions. */
export const isOfOwnPage = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers[SITE] === 'same-origin'
