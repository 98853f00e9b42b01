import t from 'tap'
import { counting, threadInFront } from '../../fixtures/in-front.ts'

const listenInFront = await threadInFront(t)

t.test('only whole answers of a valid caller are stored', async (test) => {
  const expired = await counting(test, listenInFront, () => Date.now() - 1)
  test.same([await expired.get(), await expired.get()], [1, 2])
  const { get, status, port, seen } = await counting(test, listenInFront)
  for (status.now of [404, 304]) {
    const before = seen.length
    for (let count = 0; count < 2; count++) await (await fetch(`http://127.0.0.1:${port}/${status.now}`)).text()
    test.equal(seen.length, before + 2, `${status.now}`)
  }
  status.now = 200
  const body = { method: 'POST', body: '1' }
  for (let count = 0; count < 2; count++) await (await fetch(`http://127.0.0.1:${port}/post`, body)).text()
  test.not(await get({}, '/post'), seen.length - 1, 'the answer to a POST is none to a GET')
})

t.test('a client can neither send nor see headers of the threads in front', async (test) => {
  const { seen, port } = await counting(test, listenInFront)
  const headers = { 'x-fulcrum-front': '192.0.2.1 ambiguous', 'X-Fulcrum-Front': '192.0.2.2' }
  for (let count = 0; count < 4; count++) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers })
    test.match([await answer.text(), answer.headers.get('set-cookie')], [/^\d$/, 'a=1'])
    test.notOk(
      [...answer.headers.keys()].some((name) => name.includes('fulcrum')),
      'also from memory',
    )
  }
  const [asked] = seen
  test.match(asked, { address: '127.0.0.1', isAmbiguous: false })
  test.ok(seen.length < 4, 'a repeated request is answered from memory')
})
