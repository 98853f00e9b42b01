import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Endpoint } from './endpoint.ts'
import { openapiDocument } from './openapi.ts'
import type { Rendered } from '../context/rendered.ts'
import { ApiError } from '../base/errors.ts'

/** The page may load only what this daemon serves; its bundle styles its own elements. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const PAGE_HEADERS = {
  'Content-Security-Policy': PAGE_POLICY,
  'Referrer-Policy': 'no-referrer',
}

const INDEX = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fulcrum API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  validatorUrl: null,
  docExpansion: 'none',
  filter: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
})
`

interface File {
  readonly contentType: string
  read(folder: string): string | Uint8Array
}
const FILES: Readonly<Record<string, File>> = {
  'index.html': { contentType: 'text/html; charset=utf-8', read: () => INDEX },
  'start.js': { contentType: 'text/javascript; charset=utf-8', read: () => START },
  'swagger-ui.css': {
    contentType: 'text/css; charset=utf-8',
    read: (folder) => readFileSync(join(folder, 'swagger-ui.css')),
  },
  'swagger-ui-bundle.js': {
    contentType: 'text/javascript; charset=utf-8',
    read: (folder) => readFileSync(join(folder, 'swagger-ui-bundle.js')),
  },
}

/**
 * The public documents about the API. Each is rendered or read on first use, so that start-up and idle memory do not
 * pay for it, and then kept, so that the next request costs a look-up.
 */
export class Documents {
  readonly #endpoints: readonly Endpoint[]
  readonly #version: string
  readonly #pages = new Map<string, Rendered>()
  #openapi: Rendered | undefined

  constructor(endpoints: readonly Endpoint[], version: string) {
    this.#endpoints = endpoints
    this.#version = version
  }

  openapi(): Rendered {
    this.#openapi ??= taggedDocument(
      JSON.stringify(openapiDocument(this.#endpoints, this.#version)),
      'application/json',
    )
    return this.#openapi
  }

  /** Returns one of a fixed set of files: no name from a request becomes a path. */
  page(name: string): Rendered {
    const known = this.#pages.get(name)
    if (known !== undefined) return known
    const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined
    if (file === undefined) throw new ApiError('NOT_FOUND', `The documentation has no file ${name}`)
    const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    const page = { ...taggedDocument(file.read(folder), file.contentType), headers: PAGE_HEADERS }
    this.#pages.set(name, page)
    return page
  }
}

/** Returns a document to keep, tagged by its bytes. */
export function taggedDocument(text: string | Uint8Array, contentType: string): Rendered {
  const body = Buffer.from(text)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { body, contentType, etag, cacheControl: 'no-cache' }
}
