import { Type } from 'typebox'
import { Reply } from '../../api/reply.ts'
import type { FinishedLogin } from '../../context/sso.ts'
import { closed } from '../../model/fields.ts'

/** A page that anybody may be shown holds nothing but itself. */
const PAGE_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
} as const
export const PAGE_SENDS = ['Content-Security-Policy', 'Referrer-Policy'] as const

/** The code is made here, of letters that mean nothing in HTML. */
const page = (
  code: string,
  path: string,
) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Fulcrum</title>
<style>body{font:16px system-ui,sans-serif;max-width:34em;margin:12vh auto;padding:0 1em}code{user-select:all;overflow-wrap:anywhere}</style>
<h1>You are logged in</h1><p>Give this code to the program that sent you here; it is good for one minute, once:</p>
<p><code id="code">${code}</code></p><p>It opens a session with <code>POST /api/v1${path}</code>. You may close this page.</p></html>`

/** What a browser is shown after a login: a code for the endpoint of this way, or the admin page, which redeems it. */
export const doneLogin = ({ code, isForPage }: FinishedLogin, via: 'saml' | 'oidc') =>
  Reply.bytes({
    ...(isForPage ? { status: 303 } : {}),
    body: isForPage ? 'See Location' : page(code, `/${via}/token`),
    contentType: 'text/html; charset=utf-8',
    cacheControl: 'no-store',
    // What stands behind # is told to no server.
    headers: { ...PAGE_HEADERS, ...(isForPage ? { Location: `/#sso=${code}&via=${via}` } : {}) },
  })

/** Sends a browser to the identity provider. */
export const sentAway = ({ location, cookie }: { readonly location: string; readonly cookie: string }) =>
  Reply.bytes({
    status: 303,
    body: 'See Location',
    contentType: 'text/html',
    cacheControl: 'no-store',
    headers: { Location: location, 'Set-Cookie': cookie, ...PAGE_HEADERS },
  })

/** What the endpoint takes that opens a session. */
export const CodeBody = closed({
  code: Type.String({ minLength: 1, maxLength: 128, description: 'Code; good for one minute, once.' }),
})
