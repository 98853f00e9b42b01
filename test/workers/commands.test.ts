import t from 'tap'
import { deadline, refusedCommand } from '../../workers/commands.ts'

t.test('the first command with an unexpected answer ends the conversation', async (t) => {
  const asked: string[] = []
  const answers: Readonly<Record<string, string>> = {
    a: 'done\n',
    b: 'changed from 1 to 2',
    c: '',
    d: 'No such server.',
  }
  const host = {
    socket: async (_path: string, request: string) => {
      asked.push(request)
      return answers[request] ?? ''
    },
  }
  const send = (...commands: readonly (readonly [string, string])[]) => {
    asked.length = 0
    const list = commands.map(([request, accepted]) => ({ request, expect: ['never', accepted] }))
    return refusedCommand(host, '/s', list, () => 1000)
  }
  t.equal(await send(['a', 'done'], ['b', 'changed *'], ['c', '']), undefined)
  t.strictSame(asked, ['a', 'b', 'c'])
  t.equal(await send(['a', 'done'], ['d', ''], ['b', 'changed *']), 'd: No such server.')
  t.strictSame(asked, ['a', 'd'])
  t.equal(await send(['c', 'done']), 'c: (no answer)')
  t.equal(await send(['b', 'changed']), 'b: changed from 1 to 2', 'an expected beginning is marked as one')
})

t.test('the remaining time is shared and never zero', async (t) => {
  const before = performance.now()
  const left_ms = deadline(50)
  const left = left_ms()
  t.ok(left <= 50 && left >= Math.max(1, 50 - (performance.now() - before)), `${left} ms`)
  await new Promise((resolve) => setTimeout(resolve, 60))
  t.equal(left_ms(), 1)
})

t.test('the end of an answer can decide, and a payload is in no refusal', async (t) => {
  const sent: (string | undefined)[] = []
  const host = {
    socket: async (_path: string, _request: string, _timeout_ms: number, payload?: string) => {
      sent.push(payload)
      return 'Committing x...\nSuccess!\n'
    },
  }
  const send = (accepted: string) =>
    refusedCommand(host, '/s', [{ request: 'commit', payload: 'secret', expect: [accepted] }], () => 1000)
  t.equal(await send('*Success!'), undefined)
  t.notMatch(await send('*Failure!'), 'secret')
  t.strictSame(sent, ['secret', 'secret'])
})
