/** What the page says of clusters. */
export const germanOfClusters: Readonly<Record<string, string>> = {
  'This node follows the cluster no longer.': 'Dieser Knoten folgt dem Cluster nicht mehr.',
  'This node was removed from the cluster, {when}.': 'Dieser Knoten wurde aus dem Cluster entfernt, {when}.',
  'Its HAProxy serves what ran here last. Nothing that is changed elsewhere comes here.':
    'Sein HAProxy bedient, was hier zuletzt lief. Was anderswo geändert wird, kommt hier nicht an.',
  'Make it a single node; then it can join again with a new token.':
    'Machen Sie ihn zum Einzelknoten; dann kann er mit einem neuen Token wieder beitreten.',
  'Make it a single node': 'Zum Einzelknoten machen',
  'Too few votes answer.': 'Zu wenige Stimmen antworten.',
  'Does not answer: {names}': 'Antwortet nicht: {names}',
  'Traffic goes on, and so do changes: enough others answer. Who is away follows when it is back.':
    'Der Verkehr läuft weiter, und Änderungen gehen: Genug andere antworten. Wer fehlt, zieht nach, wenn er zurück ist.',
  'Traffic goes on as it runs, and people can log in. Nothing can be changed until enough nodes answer.':
    'Der Verkehr läuft weiter wie er läuft, und man kann sich anmelden. Ändern lässt sich nichts, bis genug Knoten antworten.',
  'Look at the machine, the daemon there, and firewalls. Remove it only if it does not come back.':
    'Sehen Sie nach der Maschine, dem Dienst dort und nach Firewalls. Entfernen Sie ihn nur, wenn er nicht wiederkommt.',
  'Bring it back. If it is off for certain, this node can go on alone.':
    'Bringen Sie ihn zurück. Ist er sicher aus, kann dieser Knoten allein weitermachen.',
  'Bring it back. If it is off for certain, an administrator can let this node go on alone.':
    'Bringen Sie ihn zurück. Ist er sicher aus, kann ein Administrator diesen Knoten allein weitermachen lassen.',
  'Bring one of them back. If none is left, this node can become a single node.':
    'Bringen Sie einen davon zurück. Gibt es keinen mehr, kann dieser Knoten ein Einzelknoten werden.',
  'Go on alone': 'Allein weitermachen',
  'Both nodes went on alone, and both were changed.':
    'Beide Knoten haben allein weitergemacht, und beide wurden geändert.',
  'Traffic goes on, on each as it runs there. Neither takes changes until somebody has chosen.':
    'Der Verkehr läuft weiter, auf jedem wie er dort läuft. Keiner nimmt Änderungen an, bis jemand gewählt hat.',
  'Choose whose configuration stays. That of the other one is set aside there as a file.':
    'Wählen Sie, wessen Konfiguration bleibt. Die des anderen wird dort als Datei beiseitegelegt.',
  'Keep that of {name} ({count:change|changes})': 'Die von {name} behalten ({count:Änderung|Änderungen})',
  'What still works': 'Was noch geht',
  'What to do': 'Was zu tun ist',
  Cluster: 'Cluster',
  'Up to five nodes share one configuration, users and sessions.':
    'Bis zu fünf Knoten teilen sich Konfiguration, Benutzer und Sitzungen.',
  'This node is in no cluster.': 'Dieser Knoten ist in keinem Cluster.',
  'Traffic never needs a cluster. With one, another node goes on where this one cannot.':
    'Der Verkehr braucht nie einen Cluster. Mit einem macht ein anderer Knoten weiter, wo dieser nicht kann.',
  'Your rights do not cover beginning or joining one.':
    'Ihre Rechte umfassen nicht, einen zu beginnen oder einem beizutreten.',
  'This node is its first one; others join with a token. Traffic is untouched.':
    'Dieser Knoten ist sein erster; andere treten mit einem Token bei. Der Verkehr bleibt unberührt.',
  Begin: 'Beginnen',
  'This node has joined {name}. Log in with a user of the cluster.':
    'Dieser Knoten ist {name} beigetreten. Melden Sie sich mit einem Benutzer des Clusters an.',
  'Join a cluster': 'Einem Cluster beitreten',
  'With a token that was made there: Cluster, “Let a node join”.':
    'Mit einem Token, das dort gemacht wurde: Cluster, „Knoten beitreten lassen“.',
  'Look at it first': 'Erst ansehen',
  'Join {name}': '{name} beitreten',
  'reaches this node': 'erreicht diesen Knoten',
  'does not reach it': 'erreicht ihn nicht',
  'The configuration and users of the cluster take the place of those of this node. Back up before.':
    'Konfiguration und Benutzer des Clusters treten an die Stelle derer dieses Knotens. Sichern Sie vorher.',
  'Nothing of this node comes along.': 'Von diesem Knoten kommt nichts mit.',
  'What is of this node alone comes along: {names}': 'Was nur diesem Knoten gehört, kommt mit: {names}',
  'You log in again, with a user of the cluster.': 'Sie melden sich neu an, mit einem Benutzer des Clusters.',
  'Name of the cluster': 'Name des Clusters',
  Token: 'Token',
  'Where other nodes reach this one': 'Wo andere Knoten diesen erreichen',
  'Name of this node': 'Name dieses Knotens',
  Done: 'Fertig',
  'Make a token here': 'Hier ein Token machen',
  'What joins': 'Was beitritt',
  'A node': 'Ein Knoten',
  'A witness': 'Ein Zeuge',
  'It takes over the configuration and users of this cluster, and serves what it serves.':
    'Er übernimmt Konfiguration und Benutzer dieses Clusters und bedient, was dieser bedient.',
  'A third vote on another site: no configuration, no traffic. It is worth it for two nodes.':
    'Eine dritte Stimme an einem anderen Ort: keine Konfiguration, kein Verkehr. Bei zwei Knoten lohnt er sich.',
  'Good for': 'Gültig',
  '1 hour': '1 Stunde',
  '1 day': '1 Tag',
  'Make the token': 'Token machen',
  'Good for one node, until {time}.': 'Gültig für einen Knoten, bis {time}.',
  'Paste it there': 'Dort einfügen',
  'It comes in': 'Er kommt herein',
  '{name} came in': '{name} ist hereingekommen',
  'Waiting for it; this dialog may be closed meanwhile.':
    'Es wird auf ihn gewartet; das Fenster darf so lange zu sein.',
  'It has what the others have, and votes': 'Er hat, was die anderen haben, und stimmt ab',
  'It gets its vote as soon as it has everything.': 'Er bekommt seine Stimme, sobald er alles hat.',
  'Token, shown this once': 'Token, nur dieses eine Mal gezeigt',
  Copied: 'Kopiert',
  Copy: 'Kopieren',
  'On the other machine, open its page, go to Cluster, and paste it under “Join a cluster”.':
    'Öffnen Sie auf der anderen Maschine deren Seite, gehen Sie zu „Cluster“ und fügen Sie es unter „Einem Cluster beitreten“ ein.',
  'Or on its command line, which reads the token from its input:':
    'Oder auf deren Befehlszeile, die das Token von ihrer Eingabe liest:',
  'On the machine of the witness, as root; its daemon waits for the file:':
    'Auf der Maschine des Zeugen, als root; ihr Dienst wartet auf die Datei:',
  'Your rights do not cover this, or no longer.': 'Ihre Rechte umfassen das nicht oder nicht mehr.',
  'The daemon does not answer; others go on with it. Look again in a moment.':
    'Der Dienst antwortet nicht; andere machen damit weiter. Sehen Sie gleich noch einmal nach.',
  'Leave the cluster': 'Cluster verlassen',
  'Try again': 'Noch einmal versuchen',
  'Also where the others cannot be told': 'Auch wenn die anderen nichts davon erfahren können',
  'Type {name} to confirm': 'Zur Bestätigung {name} eingeben',
  'Of two nodes, the one that stays has to be able to go on alone first.':
    'Von zwei Knoten muss der, der bleibt, erst allein weitermachen können.',
  'It votes no longer, forgets the cluster, and waits for another token.':
    'Er stimmt nicht mehr ab, vergisst den Cluster und wartet auf ein anderes Token.',
  'Nodes and traffic go on as they are.': 'Knoten und Verkehr bleiben, wie sie sind.',
  'It becomes a single node, with the configuration and users that it has now; its traffic goes on.':
    'Er wird ein Einzelknoten mit der Konfiguration und den Benutzern, die er jetzt hat; sein Verkehr läuft weiter.',
  'What is changed from then on, here or there, is changed there only.':
    'Was von da an hier oder dort geändert wird, ist nur dort geändert.',
  'Its floating IPs go to a node that stays.': 'Seine Floating-IPs gehen an einen Knoten, der bleibt.',
  'It is locked out: its certificates are revoked, and no node answers it any more.':
    'Er wird ausgesperrt: Seine Zertifikate werden widerrufen, und kein Knoten antwortet ihm mehr.',
  'What is written from then on is sealed with a key that it never had.':
    'Was von da an geschrieben wird, ist mit einem Schlüssel versiegelt, den er nie hatte.',
  'Should it come back, it has to become a single node, and can join again with a new token.':
    'Kommt er wieder, muss er ein Einzelknoten werden und kann mit einem neuen Token wieder beitreten.',
  'The cluster as {name} sees it.': 'Der Cluster, wie {name} ihn sieht.',
  'Nodes that answer': 'Knoten, die antworten',
  'with the witness': 'mit dem Zeugen',
  Votes: 'Stimmen',
  'Votes to spare': 'Entbehrliche Stimmen',
  'One more that goes ends changes; traffic goes on.':
    'Fällt noch eine weg, lässt sich nichts ändern; der Verkehr läuft weiter.',
  'So many more may go, and changes go on.': 'So viele dürfen noch wegfallen, und Änderungen gehen weiter.',
  Version: 'Version',
  '{count} different': '{count} verschiedene',
  'the same everywhere': 'überall dieselbe',
  'no vote now': 'jetzt ohne Stimme',
  'In maintenance since {since}, by {by}.': 'In Wartung seit {since}, durch {by}.',
  'Floating IPs': 'Floating-IPs',
  none: 'keine',
  'takes none now': 'nimmt jetzt keine',
  'Applied here alone': 'Nur hier angewendet',
  '{count:record|records}; an apply on all ends this': '{count:Eintrag|Einträge}; ein Anwenden auf allen beendet das',
  'Begin maintenance': 'Wartung beginnen',
  'End maintenance': 'Wartung beenden',
  'Name and address': 'Name und Adresse',
  'A witness: it votes, and has no configuration and no traffic.':
    'Ein Zeuge: Er stimmt ab und hat weder Konfiguration noch Verkehr.',
  'In the cluster': 'Im Cluster',
  'Certificates until': 'Zertifikate bis',
  unreachable: 'nicht erreichbar',
  '{name} leads': '{name} führt',
}
