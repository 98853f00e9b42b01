import t from 'tap'
import { Exposition, labelText, labelValue } from '../../../src/exposition/exposition.ts'
import { counter, gauge, info } from '../../../src/exposition/family.ts'
import { ascii } from '../../../src/base/json-buffer.ts'

const HELD = gauge('held_bytes', 'What is held.', ['name'])
const DONE = counter('done', 'What was done.')
const BUILD = info('build', 'What it is.', ['version'])

function written(format: 'openmetrics' | 'prometheus'): string {
  const out = new Exposition(format)
  out.begin(gauge('nothing', 'Never there.'))
  out.begin(HELD)
  out.sample(['a'], 1.5)
  out.number(ascii('{name="b"'), 2)
  out.begin(counter('nothing_either', 'Never there.'))
  out.begin(DONE)
  out.sample([], 3)
  out.begin(BUILD)
  out.sample(['1'], 1)
  out.begin(gauge('no_end', 'Never there.'))
  return out.end().toString()
}

t.test('OpenMetrics: type, unit and help, names without their suffix, and an end', async (test) => {
  test.equal(
    written('openmetrics'),
    `# TYPE fulcrum_held_bytes gauge
# UNIT fulcrum_held_bytes bytes
# HELP fulcrum_held_bytes What is held.
fulcrum_held_bytes{name="a"} 1.5
fulcrum_held_bytes{name="b"} 2
# TYPE fulcrum_done counter
# HELP fulcrum_done What was done.
fulcrum_done_total 3
# TYPE fulcrum_build info
# HELP fulcrum_build What it is.
fulcrum_build_info{version="1"} 1
# EOF
`,
  )
})

t.test('text 0.0.4: names as the samples have them, no types unknown to it', async (test) => {
  test.equal(
    written('prometheus'),
    `# HELP fulcrum_held_bytes What is held.
# TYPE fulcrum_held_bytes gauge
fulcrum_held_bytes{name="a"} 1.5
fulcrum_held_bytes{name="b"} 2
# HELP fulcrum_done_total What was done.
# TYPE fulcrum_done_total counter
fulcrum_done_total 3
# HELP fulcrum_build_info What it is.
# TYPE fulcrum_build_info gauge
fulcrum_build_info{version="1"} 1
`,
  )
})

t.test('the next document starts again', async (test) => {
  const out = new Exposition('prometheus')
  out.begin(DONE)
  out.sample([], 1)
  const first = out.end()
  out.begin(HELD)
  out.sample(['x'], 2)
  test.notMatch(out.end().toString(), /done/)
  test.match(first.toString(), /done_total 1\n$/, 'and the first one stays as it is')
})

t.test('text written elsewhere is inserted unchanged', async (test) => {
  const [out, other] = [new Exposition('openmetrics'), new Exposition('openmetrics')]
  other.begin(gauge('nothing', 'Never there.'))
  test.equal(other.part().length, 0, 'not even the end of a document')
  other.begin(BUILD)
  other.sample(['1'], 1)
  const part = other.part()
  out.begin(gauge('nothing', 'Never there.'))
  out.add(part)
  out.begin(gauge('no_end', 'Never there.'))
  out.add(part)
  test.equal(out.end().toString(), `${part.toString().repeat(2)}# EOF\n`)
})

t.test('label values: any text, which ends neither a line nor a document', async (test) => {
  test.equal(labelValue('a "b" \\ c\nd'), String.raw`a \"b\" \\ c\nd`)
  test.equal(labelValue('a\u0000b\rc\td\u007fe\u0085f\u001b[2J'), 'a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffd[2J')
  test.equal(labelValue('שלום \u202edrawkcab ü 日本'), 'שלום \u202edrawkcab ü 日本')
  test.equal(labelText({ labels: ['x', 'y'] }, ['1', 'a"']), String.raw`{x="1",y="a\""`)
  test.equal(labelText({ labels: [] }, []), '')
})
