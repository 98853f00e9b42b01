import t from 'tap'
import { renderChrony } from '../../../../src/drivers/chrony/render.ts'

const directives = (servers: readonly string[]) =>
  renderChrony(servers)
    .split('\n')
    .filter((line) => /^(server|pool)/.test(line))

t.test('each server once, in the given order', async (test) => {
  test.same(directives(['b.test', '192.0.2.1', 'b.test']), ['server b.test iburst', 'server 192.0.2.1 iburst'])
})

t.test('without servers: those of Debian', async (test) => {
  test.same(directives([]), ['pool 2.debian.pool.ntp.org iburst'])
})

t.test('no value becomes another directive', async (test) => {
  const hostile = ['a\nmailonchange root 0', 'a b', 'a#', '!a', 'a;b', '"a"', '', 'a%0ab', '\u2028']
  test.same(directives([...hostile, 'good.test']), ['server good.test iburst'])
  test.equal(renderChrony(hostile), renderChrony([]))
})
