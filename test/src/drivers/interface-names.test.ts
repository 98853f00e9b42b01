import t from 'tap'
import { interfacePlace, withInterfaceNames } from '../../../src/drivers/interface-names.ts'

t.test('each place gets the name of the interface', async (test) => {
  const names = new Map([
    ['a', 'eth0'],
    ['b }\n', 'eth1'],
  ])
  const text = `x ${interfacePlace('a')} y ${interfacePlace('b }\n')} {interface} ${interfacePlace('a')}`
  test.equal(withInterfaceNames(text, names), 'x eth0 y eth1 {interface} eth0')
})

t.test('a typed id becomes no syntax, and no name that an interface could have', async (test) => {
  test.notMatch(interfacePlace('x}\n    script "evil'), /[\s"]|\}./)
  const name = withInterfaceNames(interfacePlace('x}\nevil'), new Map())
  test.match(name, /^gone-[\da-f]{10}$/)
  test.equal(name, withInterfaceNames(interfacePlace('x}\nevil'), new Map()), 'the same each time')
})
