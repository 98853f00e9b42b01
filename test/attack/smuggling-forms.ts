/** A request whose end can be found in two places, or nowhere. */
export interface Form {
  readonly name: string
  /** Header lines about the body. */
  readonly headers: readonly string[]
  readonly body: string
}

const LAST = '0\r\n\r\n'

const CODINGS = [
  'Transfer-Encoding: chunked',
  'transfer-encoding:chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: chunked\u000b',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding\r\n: chunked',
  'Transfer-Encoding\u0000: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
  'Transfer-Encoding: x\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding:',
]

const LENGTHS = [
  '+2',
  '-2',
  '2,2',
  '2, 7',
  '2 2',
  '0x2',
  '2e0',
  '2.0',
  '',
  'a',
  '2a',
  '2\u0000',
  '２',
  '2;a=b',
  "2'",
  '²',
  '18446744073709551618',
  '4294967298',
  '99999999999999999999',
]

/** First lines of a chunk that parsers read differently; `size` is that of the following data. */
const chunkLines = (size: string) => [
  ` ${size}`,
  `\t${size}`,
  '',
  `+${size}`,
  `-${size}`,
  `0x${size}`,
  `${size} `,
  `${size};`,
  `${size};x="\r\n"`,
  `${size};x=\u0000`,
  `${size}\u0000`,
  `g`,
  `０`,
  `ffffffffffffffff${size}`,
  `1${'0'.repeat(15)}${size}`,
  `1${'0'.repeat(16)}${size}`,
]

/** Forms in which `smuggled` is a request in only one of two readings. */
export function unclear(smuggled: string): readonly Form[] {
  const behind = `${LAST}${smuggled}`
  const whole = `Content-Length: ${behind.length}`
  const inside = `\r\n${smuggled}`
  const size = inside.length.toString(16)
  const named = (name: string, headers: readonly string[], body: string) => ({ name, headers, body })
  return [
    ...CODINGS.flatMap((coding) => [
      named(`CL.TE, ${JSON.stringify(coding)}`, [whole, coding], behind),
      named(`TE.CL, ${JSON.stringify(coding)}`, [coding, 'Content-Length: 5'], behind),
      named(`TE, ${JSON.stringify(coding)}`, [coding], behind),
    ]),
    ...[
      ['Content-Length: 2', whole],
      [whole, 'Content-Length: 2'],
      ['Content-Length: 2', 'Content-Length: 2'],
      ['content-length: 2', 'CONTENT-LENGTH: 7'],
    ].map((headers) => named(`twice, ${headers.join()}`, headers, `{}${smuggled}`)),
    ...LENGTHS.map((length) =>
      named(`a length of ${JSON.stringify(length)}`, [`Content-Length: ${length}`], `{}${smuggled}`),
    ),
    ...[
      ['Content-Length : 2'],
      ['Content-Length:\r\n 2'],
      ['X: y\r\n Content-Length: 2'],
      ['X: y\nContent-Length: 2'],
      ['X: y\rContent-Length: 2'],
      ['Content-Length\u0000: 2'],
      ['\u0000', 'Content-Length: 2'],
      ['nothing', 'Content-Length: 2'],
    ].map((headers) => named(JSON.stringify(headers), headers, `{}${smuggled}`)),
    ...chunkLines(size).flatMap((line) =>
      ['\r\n', '\n', '\r', '\n\r'].map((end) =>
        named(
          `a chunk that begins ${JSON.stringify(line + end)}`,
          ['Transfer-Encoding: chunked'],
          `${line}${end}${inside}\r\n${LAST}`,
        ),
      ),
    ),
    named('a chunk that is longer than it says', ['Transfer-Encoding: chunked'], `2\r\n{}XX${LAST}${smuggled}`),
    named('a chunk that ends with LF', ['Transfer-Encoding: chunked'], `2\r\n{}\n${LAST}${smuggled}`),
    named(
      'a last chunk with trailers',
      ['Transfer-Encoding: chunked'],
      `2\r\n{}\r\n0\r\nContent-Length: 7\r\n\r\n${smuggled}`,
    ),
    named('a last chunk that ends with LF', ['Transfer-Encoding: chunked'], `2\r\n{}\r\n0\n\n${smuggled}`),
    named('many zeros', ['Transfer-Encoding: chunked'], `${'0'.repeat(40)}2\r\n{}\r\n${LAST}${smuggled}`),
  ]
}
