import { createHash } from 'node:crypto'
import { prefers } from '../api/accept.ts'
import type { Rendered } from '../context/rendered.ts'
import type { Incoming } from './incoming.ts'
import { type Form, negotiate, wantedOf } from './prepared.ts'
import type { Handler } from './server.ts'

const STYLE = 'body{font:16px/1.5 sans-serif;max-width:40em;margin:4em auto;padding:0 1em}'

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fulcrum</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<h1>Fulcrum</h1>
<p>Management of load-balancing appliances. At this address programs talk to its API.</p>
<ul>
<li><a href="api/v1/docs">Documentation of the API</a>, to read and to try</li>
<li><a href="api/v1/openapi.json">The API as an OpenAPI 3.1 document</a></li>
</ul>
</body>
</html>
`

/** The page loads nothing and runs nothing; only this very style counts. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const FRONT: Rendered = {
  body: Buffer.from(PAGE),
  contentType: 'text/html; charset=utf-8',
  etag: `"${createHash('sha256').update(PAGE).digest('base64url').slice(0, 22)}"`,
  cacheControl: 'no-cache',
  vary: 'Accept, Accept-Encoding',
  headers: { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' },
}

/**
 * Who opens the address of the API in a browser is told what it is. Programs are told that nothing is there, as
 * everywhere.
 */
export function withFrontPage(handle: Handler): Handler {
  return (incoming, requestId) => frontPage(incoming) ?? handle(incoming, requestId)
}

function frontPage(incoming: Incoming): Form | undefined {
  if (incoming.path !== '/' || (incoming.method !== 'GET' && incoming.method !== 'HEAD')) return undefined
  return prefers('text/html', incoming.header('accept')) ? negotiate(FRONT, wantedOf(incoming)) : undefined
}
