import type { Packing } from '../base/packing.ts'
import type { Rendered } from '../context/rendered.ts'
import { compress, isCompressible } from './compression.ts'
import { chooseEncoding, type Encoding } from './encoding.ts'
import { type Answer, headOf, JSON_TYPE } from './envelope.ts'
import type { Incoming } from './incoming.ts'

/** The form in which a request wants its answer. */
export interface Wanted {
  /** Value of the header; '' when absent. */
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
}

export type Form = Answer | Promise<Answer>
interface Forms {
  identity?: Form
  gzip?: Form
  br?: Form
  /** The 304 answers for clients that already have these bytes. */
  readonly unchanged: { -readonly [E in Encoding]?: Answer }
}

export const wantedOf = (incoming: Pick<Incoming, 'header'>): Wanted => ({
  ifNoneMatch: incoming.header('if-none-match'),
  acceptEncoding: incoming.header('accept-encoding'),
})

const EMPTY = ''

/** About one in this many potential 304 answers is sent in full. */
const FULL_ONE_OF = 64
let unchangedLeft = FULL_ONE_OF

/**
 * With an answer without a body the socket does not report whether it accepted it, and answers to a client that reads
 * nothing would pile up. So now and then, at unpredictable times, an answer is sent in full, which a client must expect
 * anyway: then the socket reports.
 */
function isFullForOnce(): boolean {
  unchangedLeft -= 1
  if (unchangedLeft > 0) return false
  unchangedLeft = Math.ceil(FULL_ONE_OF * (0.5 + Math.random()))
  return true
}

/** The same prepared bytes are sent many times, so each form of their answer is built once and stored with them. */
const prepared = new WeakMap<Rendered, Forms>()

/**
 * Returns the answer with the prepared bytes, compressed if the client accepts that, or a 304 if it has them already.
 */
export function negotiate(ready: Rendered, { ifNoneMatch, acceptEncoding }: Wanted): Form {
  const encoding = acceptEncoding === EMPTY ? 'identity' : encodingOf(ready, acceptEncoding)
  if (
    ifNoneMatch !== EMPTY &&
    ready.etag !== undefined &&
    matches(ifNoneMatch, tagOf(ready.etag, encoding)) &&
    !isFullForOnce()
  ) {
    const { unchanged } = formsOf(ready)
    return (unchanged[encoding] ??= { ...plain(ready, encoding), status: 304, body: EMPTY, slices: undefined })
  }
  const forms = formsOf(ready)
  const form = forms[encoding]
  if (form !== undefined) return form
  if (encoding !== 'identity') return compressed(ready, encoding, forms)
  return (forms.identity = plain(ready, encoding))
}

/** Bytes that are about to change, or that are not there yet, have no reusable form. */
function formsOf(ready: Rendered): Forms {
  const isBrief = ready.isTransient === true && ready.hold === undefined
  if (isBrief || ready.slices !== undefined || ready.stream !== undefined) return { unchanged: {} }
  let forms = prepared.get(ready)
  if (forms === undefined) prepared.set(ready, (forms = { unchanged: {} }))
  return forms
}

/** Returns the encoding that would be sent, so that a tag can be compared before anything is compressed. */
function encodingOf({ body, contentType = JSON_TYPE, slices }: Rendered, acceptEncoding: string): Encoding {
  const bytes = slices === undefined ? body.length : Number.POSITIVE_INFINITY
  return isCompressible(contentType, bytes) && slices === undefined ? chooseEncoding(acceptEncoding) : 'identity'
}

function plain(ready: Rendered, encoding: Encoding): Answer {
  const {
    body,
    contentType = JSON_TYPE,
    etag,
    cacheControl,
    vary = 'Accept-Encoding',
    slices,
    stream,
    isShared,
    isTransient,
    isOfNow,
    hold,
  } = ready
  const headers: Record<string, string> = { ...ready.headers }
  if (etag !== undefined) headers['ETag'] = tagOf(etag, encoding)
  if (cacheControl !== undefined) headers['Cache-Control'] = cacheControl
  headers['Vary'] = vary
  if (encoding !== 'identity') headers['Content-Encoding'] = encoding
  return {
    status: ready.status ?? 200,
    contentType,
    body,
    headers,
    head: headOf({ contentType, headers }),
    slices,
    stream,
    isShared,
    isTransient,
    isOfNow,
    hold,
  }
}

function compressed(ready: Rendered, encoding: Packing, forms: Forms): Form {
  const bytes = typeof ready.body === 'string' ? Buffer.from(ready.body) : ready.body
  const result = ready.encoded?.[encoding] ?? compress(encoding, bytes, ready)
  // Too much is being compressed: every client accepts the plain form, and the next request may be luckier.
  if (result === undefined) return plain(ready, 'identity')
  const answer = { ...plain(ready, encoding), isTransient: undefined, hold: undefined }
  if (!(result instanceof Promise)) return (forms[encoding] = { ...answer, body: result })
  const form = result.then((body) => (forms[encoding] = { ...answer, body }))
  forms[encoding] = form
  return form
}

/** Each form has different bytes, and therefore a strong tag of its own. */
function tagOf(etag: string, encoding: Encoding): string {
  return encoding === 'identity' ? etag : `${etag.slice(0, -1)}-${encoding}"`
}

/** RFC 9110 §13.1.2: compares with a list of tags, weakly, or with `*`. */
export function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '*' || ifNoneMatch === etag) return true
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
