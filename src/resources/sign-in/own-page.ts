/**
 * Header by which a browser says whether a page of this origin sends the request; no page can forge it. Other programs
 * leave it out.
 */
export const SITE = 'sec-fetch-site'

/**
 * Header with a key that the admin page keeps for its origin. Browsers send cookies to every port of a host, so whoever
 * answers at another port gets the page's cookie too, for example a real server behind a frontend; but never this key.
 */
export const PAGE_KEY = 'x-fulcrum-page'

/** Returns the key of the admin page; '' without one that nobody can guess, or from anywhere else. */
export function pageKeyIn(headers: Readonly<Record<string, string | undefined>>): string {
  const key = headers[PAGE_KEY] ?? ''
  return isOfOwnPage(headers) && /^[\w-]{43,128}$/.test(key) ? key : ''
}

/** The admin page is the only page of this address that asks for sessions. */
export const isOfOwnPage = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers[SITE] === 'same-origin'
