/**
 * Header by which a browser says whether a page of this origin sends the request; no page can forge it. Other programs
 * leave it out.
 */
export const SITE = 'sec-fetch-site'

/** The admin page is the only page of this address that asks for sessions. */
export const isOfOwnPage = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers[SITE] === 'same-origin'
