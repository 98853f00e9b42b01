/** Tags, comments and character data together; a user with a thousand groups takes some 2,060. */
const PARTS_MAX = 2200
const ATTRIBUTES_MAX = 3600
/** A library's time grows with the declarations above an element. */
const ATTRIBUTES_OF_ONE_MAX = 20
const DEPTH_MAX = 12

const SPACE = String.raw`[ \t\r\n]`
const NAME = String.raw`[^\s/>"'<=&]+`
const VALUE = `(?:"[^"<]*"|'[^'<]*')`
const ATTRIBUTE = `${SPACE}+${NAME}${SPACE}*=${SPACE}*${VALUE}`
const START_TAG = new RegExp(String.raw`<(${NAME})((?:${ATTRIBUTE})*)${SPACE}*(/?)>`, 'y')
const END_TAG = new RegExp(String.raw`</${NAME}${SPACE}*>`, 'y')
const DECLARATION = /^\uFEFF?<\?xml [^?<>]*\?>/
const EACH_ATTRIBUTE = new RegExp(`(${NAME})${SPACE}*=${SPACE}*(${VALUE})`, 'g')

/** The parts of an answer outside its assertion. */
export interface SamlOutline {
  readonly destination: string | undefined
  /** Top-level codes; an answer that follows the standard has one. */
  readonly statusCodes: readonly (string | undefined)[]
  /** Algorithms that the signatures name, anywhere in the answer; '' for a signature that names none. */
  readonly algorithms: readonly string[]
}

/** Scans an answer in linear time before a slower library reads it; or returns why it must not be read. */
export function samlOutline(xml: string): SamlOutline | { readonly problem: string } {
  const scan = new Scan(xml)
  const problem = scan.run()
  if (problem !== undefined) return { problem }
  const { destination, statusCodes, algorithms } = scan
  return { destination, statusCodes, algorithms }
}

class Scan {
  destination: string | undefined
  readonly statusCodes: (string | undefined)[] = []
  readonly algorithms: string[] = []
  readonly #xml: string
  /** Element names without prefixes. */
  readonly #path: string[] = []
  #parts = 0
  #attributes = 0

  constructor(xml: string) {
    this.#xml = xml
  }

  /** Returns why the answer must not be read further, or undefined. */
  run(): string | undefined {
    const xml = this.#xml
    // `>` is rare in text, and a long text without tags is costly to scan.
    if (xml.split('>').length > 2 * PARTS_MAX) return 'it has too many parts'
    let at = DECLARATION.exec(xml)?.[0].length ?? 0
    for (at = xml.indexOf('<', at); at >= 0; at = xml.indexOf('<', at)) {
      if (this.#parts++ >= PARTS_MAX) return 'it has too many parts'
      const end = xml[at + 1] === '/' ? this.#endTag(at) : xml[at + 1] === '!' ? this.#aside(at) : this.#startTag(at)
      if (typeof end === 'string') return end
      at = end
    }
    return this.#path.length === 0 ? undefined : 'an element of it has no end'
  }

  #aside(at: number): number | string {
    const xml = this.#xml
    const close = xml.startsWith('<!--', at) ? '-->' : xml.startsWith('<![CDATA[', at) ? ']]>' : undefined
    // No answer needs a document type, and every entity attack does.
    if (close === undefined) return 'it has a document type'
    const end = xml.indexOf(close, at + 4)
    return end < 0 ? 'it cannot be read' : end + close.length
  }

  #endTag(at: number): number | string {
    END_TAG.lastIndex = at
    return END_TAG.test(this.#xml) && this.#path.pop() !== undefined ? END_TAG.lastIndex : 'it cannot be read'
  }

  #startTag(at: number): number | string {
    // Some parsers join the text before and after a processing instruction.
    if (this.#xml[at + 1] === '?') return 'it has a processing instruction'
    START_TAG.lastIndex = at
    const [, name = '', inner = '', isEmpty = ''] = START_TAG.exec(this.#xml) ?? []
    if (name === '') return 'it cannot be read'
    const attributes = [...inner.matchAll(EACH_ATTRIBUTE)].map(
      ([, key = '', value = '']) => [key, plain(value)] as const,
    )
    this.#attributes += attributes.length
    if (attributes.length > ATTRIBUTES_OF_ONE_MAX || this.#attributes > ATTRIBUTES_MAX) return 'it has too many parts'
    this.#path.push(name.replace(/^[^:]*:/, ''))
    if (this.#path.length > DEPTH_MAX) return 'it is too deep'
    this.#note(new Map(attributes))
    if (isEmpty !== '') this.#path.pop()
    return START_TAG.lastIndex
  }

  #note(attributes: ReadonlyMap<string, string>): void {
    const place = this.#path.join(' ')
    if (place === 'Response') this.destination = attributes.get('Destination')
    if (place === 'Response Status StatusCode') this.statusCodes.push(attributes.get('Value'))
    if (/(?:^| )(?:Signature|Digest)Method$/.test(place)) this.algorithms.push(attributes.get('Algorithm') ?? '')
  }
}

/** Removes the quotes. An address needs no entity but &amp;. */
const plain = (quoted: string): string => quoted.slice(1, -1).replaceAll('&amp;', '&')
