import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { prefers } from '../api/accept.ts'
import type { Rendered } from '../context/rendered.ts'
import type { Incoming } from './incoming.ts'
import { type Form, negotiate, wantedOf } from './prepared.ts'
import type { Handler } from './server.ts'

/** The folder to which `.ci/page.mjs` writes the admin page, in a clone as on an appliance. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.page/', import.meta.url))
const ASSETS = '/assets/'

/**
 * The page runs only its own files and connects only to its own origin. `data:` is for pictures in styles, `blob:` for
 * files that the user saves.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
const PAGE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const
const ASSET_HEADERS = { 'Cross-Origin-Resource-Policy': 'same-origin' } as const

/** Shown where the page was never built, as in a clone without esbuild: links to the documents about the API. */
const WITHOUT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fulcrum</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Fulcrum</h1>
<p>Management of load-balancing appliances. The admin page has not been built here; the API is complete:</p>
<ul>
<li><a href="api/v1/docs">Documentation of the API</a>, to read and to try</li>
<li><a href="api/v1/openapi.json">The API as an OpenAPI 3.1 document</a></li>
</ul>
</body>
</html>
`

interface Listed {
  readonly name: string
  readonly type: string
  readonly etag: string
}

/** The files of the admin page: a fixed table, each file read on first use and kept. */
export class PageFiles {
  readonly #folder: string
  readonly #kept = new Map<string, Rendered>()
  #listed: ReadonlyMap<string, Listed> | undefined

  constructor(folder = FOLDER) {
    this.#folder = folder
  }

  front(): Rendered {
    return this.#file('index.html') ?? { ...PAGE, body: Buffer.from(WITHOUT_PAGE) }
  }

  /** Undefined for a name outside the table: no name from a request becomes a path. */
  asset(name: string): Rendered | undefined {
    return name === 'index.html' ? undefined : this.#file(name)
  }

  #file(name: string): Rendered | undefined {
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    const listed = this.#table().get(name)
    if (listed === undefined) return undefined
    const form = name === 'index.html' ? PAGE : ASSET
    const read = readIn(`${this.#folder}${name}`)
    return read && this.#keep(name, { ...form, ...read, contentType: listed.type, etag: listed.etag })
  }

  #keep(name: string, file: Rendered): Rendered {
    this.#kept.set(name, file)
    return file
  }

  #table(): ReadonlyMap<string, Listed> {
    this.#listed ??= new Map(listedIn(this.#folder).map((one) => [one.name, one]))
    return this.#listed
  }
}

/** Undefined if the file is gone: a package of another version may have replaced it since it was listed. */
function readIn(path: string): Pick<Rendered, 'body' | 'encoded'> | undefined {
  try {
    const read = (ending: string) => readFileSync(`${path}${ending}`)
    return { body: read(''), encoded: { br: read('.br'), gzip: read('.gz') } }
  } catch {
    return undefined
  }
}

function listedIn(folder: string): readonly Listed[] {
  try {
    const { files } = JSON.parse(readFileSync(`${folder}files.json`, 'utf8')) as { readonly files: readonly Listed[] }
    return files
  } catch {
    return []
  }
}

const PAGE = {
  contentType: 'text/html; charset=utf-8',
  cacheControl: 'no-cache',
  vary: 'Accept, Accept-Encoding',
  headers: PAGE_HEADERS,
} as const
/** The name of an asset changes with its bytes. */
const ASSET = { cacheControl: 'public, max-age=31536000, immutable', headers: ASSET_HEADERS } as const

/** Serves the admin page to browsers that open the address of the API. Programs get the usual 404. */
export function withFrontPage(handle: Handler, files = new PageFiles()): Handler {
  return (incoming, requestId) => fileFor(incoming, files) ?? handle(incoming, requestId)
}

function fileFor(incoming: Incoming, files: PageFiles): Form | undefined {
  const { path, method } = incoming
  const isFront = path === '/'
  if ((!isFront && !path.startsWith(ASSETS)) || (method !== 'GET' && method !== 'HEAD')) return undefined
  if (isFront)
    return prefers('text/html', incoming.header('accept')) ? negotiate(files.front(), wantedOf(incoming)) : undefined
  const asset = files.asset(path.slice(ASSETS.length))
  return asset === undefined ? undefined : negotiate(asset, wantedOf(incoming))
}
