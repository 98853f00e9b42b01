import { Type } from 'typebox'
import { Reply } from '../../api/reply.ts'
import type { FinishedLogin } from '../../context/sso.ts'
import { closed } from '../../model/fields.ts'

/** Headers of a page that anybody may see: it may contain nothing but itself. */
const PAGE_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
} as const
export const PAGE_SENDS = ['Content-Security-Policy', 'Referrer-Policy'] as const

/** The code is generated here, from letters without a meaning in HTML. */
const page = (
  code: string,
  path: string,
) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Fulcrum</title>
<style>body{font:16px system-ui,sans-serif;max-width:34em;margin:12vh auto;padding:0 1em}code{user-select:all;overflow-wrap:anywhere}</style>
<h1>You are logged in</h1><p>Give this code to the program that sent you here; it is valid once, for one minute:</p>
<p><code id="code">${code}</code></p><p>It opens a session with <code>POST /api/v1${path}</code>. You may close this page.</p></html>`

/**
 * Returns the page after a login: with a code for this way's endpoint, or a redirect to the admin page, which redeems
 * the code.
 */
export const doneLogin = ({ code, isForPage }: FinishedLogin, via: 'saml' | 'oidc') =>
  Reply.bytes({
    ...(isForPage ? { status: 303 } : {}),
    body: isForPage ? 'See Location' : page(code, `/${via}/token`),
    contentType: 'text/html; charset=utf-8',
    cacheControl: 'no-store',
    // Browsers send no server what follows `#`.
    headers: { ...PAGE_HEADERS, ...(isForPage ? { Location: `/#sso=${code}&via=${via}` } : {}) },
  })

/** Redirects a browser to the identity provider. */
export const sentAway = ({ location, cookie }: { readonly location: string; readonly cookie: string }) =>
  Reply.bytes({
    status: 303,
    body: 'See Location',
    contentType: 'text/html',
    cacheControl: 'no-store',
    headers: { Location: location, 'Set-Cookie': cookie, ...PAGE_HEADERS },
  })

/** Body of the endpoint that opens a session. */
export const CodeBody = closed({
  code: Type.String({ minLength: 1, maxLength: 128, description: 'Code; valid once, for one minute.' }),
})
