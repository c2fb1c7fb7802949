"""Closed lists of English words by which the rules decide what is a name, what is a verb and what is neither.

A list is here if `benchmarks/multihop.py` needs it; see docs/design/decisions/0022-own-code-and-libraries.md.
"""

from __future__ import annotations


def read_words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


DATE_WORDS = read_words(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    """
)

NATIONALITIES = read_words(
    """
    afghan african albanian algerian american anglo arab arabian argentine argentinian armenian asian australian
    austrian azerbaijani bangladeshi basque belgian bengali bolivian bosnian brazilian british bulgarian burmese
    byzantine cambodian canadian catalan caucasian chilean chinese christian colombian croatian cuban cypriot
    czech danish dutch ecuadorian egyptian english estonian ethiopian european filipino finnish flemish french
    georgian german ghanaian greek hebrew hindu hispanic hungarian icelandic indian indonesian iranian iraqi irish
    islamic israeli italian jamaican japanese jewish jordanian kenyan korean kurdish latin latvian lebanese libyan
    lithuanian malay malaysian mexican mongolian moroccan muslim nepalese nigerian norwegian ottoman pakistani
    palestinian persian peruvian philippine polish portuguese prussian punjabi roman romanian russian scandinavian
    scots scottish serbian singaporean slavic slovak slovenian somali soviet spanish sudanese swedish swiss syrian
    taiwanese tamil thai tibetan tunisian turkish ukrainian uruguayan venezuelan vietnamese welsh yugoslav afghans
    africans americans arabs asians australians austrians belgians brazilians canadians christians egyptians
    europeans germans greeks hindus hungarians indians italians jews mexicans muslims poles romans russians
    spaniards swedes turks catholic protestant catholics protestants northern southern eastern western
    """
)
"""Adjectives of countries, peoples and religions. On their own they are no entities: thousands of texts share them."""

NEVER_NAMES = read_words(
    """
    a an the this that these those such same other another any some all both each every either neither many much
    most more less few several various certain no not nor none i you he she it we they me him her us them my your
    his its our their mine yours hers ours theirs himself herself itself themselves who whom whose which what when
    where why how whether while whereas and or but so yet if unless although though because since as than then
    thus hence therefore however moreover furthermore nevertheless nonetheless meanwhile otherwise instead also
    too only even just still again already once twice ever never always often sometimes usually generally
    typically initially originally eventually finally recently currently formerly previously later earlier soon
    now today here there of in on at by for from to with without within into onto upon over under above below
    between among amongst through throughout during before after until till against about around across along
    behind beside besides beyond despite except inside like near off out outside per past regarding toward towards
    up down via versus following according due prior apart aside based given including together am is are was were
    be been being has have had do does did can could will would shall should may might must let one two three four
    five six seven eight nine ten eleven twelve hundred thousand million billion first second third fourth fifth
    sixth last next former latter new old own well very
    """
)
"""Words that are no names, however they are capitalised."""

STARTERS = read_words(
    """
    additional additionally ancient anything approximately ask back because best better big born both build built
    career central century change chapter check chief children church city climate close college coming commonly
    community compared computer consequently considered construction contemporary conversely created current day
    days described designed developed directed does early education elections elsewhere encouraged end established
    examples father few film find food founded frequently full further game games get go good government great
    groups half high historians historically history home hotel house important indeed individual industry inspired
    international journal just keep key know known language large late lead left legislation life likewise little
    live local located long look looking love major make makes man marriage members men middle military money movie
    music musically named natural nearby nearly news night north notable note nothing numerous occasionally
    officially older once online open opened operations orders originally overall owned part particularly parts
    people perhaps players please plus political population presented president private probably production projects
    published put quite rather read records released religion remember research return returning review royal run
    running say scenes school schools science see services set short show similarly single situated society
    something song songs south special specifically sports starring state stop story studies subsequently surely
    take taking team technically terms thanks things think time title total traditional traditionally training
    translated trees true try type ultimately under unfortunately university unlike use used using volume wait wall
    water way west whatever whenever white wife winter woman women word work working world writing written year yes
    young
    """
)
"""Common words that begin sentences and headings. On its own there, one is a name only if the text says so."""

GENERIC_NAMES = read_words(
    """
    academy act air airport army association avenue band bank bay board bridge building bureau camp canal captain
    castle cathedral center centre champions championship championships chapter church city club coast college
    colonel commission committee commonwealth company conference congress constitution corporation council count
    county court creek crown cup day democrats department director district division doctor duke east emperor
    empire family federal federation festival fort foundation general god government governor grand group hall
    high hill hills hospital hotel house institute institution internet island islands judge king kingdom lady
    lake league library lieutenant lord major mayor member minister ministry mount mountain mountains museum
    national navy north northeast northwest office palace parish park parliament party police pope premier
    president prince princess professor province queen railway region republic republicans river road royal saint
    school sea secretary senate senator sergeant series society south southeast southwest square station street
    supreme team theater theatre tower town township trust union university valley village war west world emmy
    oscar prime vice deputy supreme chief no. vol. english-language n/a
    """
)
"""Words that are capitalised as parts of names and are no names on their own."""

HONORIFICS = read_words(
    """
    mr mrs ms miss dr prof professor sir dame mr. mrs. ms. dr. prof. rev. hon.
    """
)

ROLES = read_words(
    """
    king queen emperor empress pope president senator governor congressman congresswoman colonel sergeant
    lieutenant premier chancellor sultan minister representative secretary archbishop bishop admiral mayor
    ambassador leader
    """
)
"""Words in front of the name of a person that are no part of it."""

CONNECTORS = read_words(
    """
    of the for de del della der den di da do dos das du des la las le les los van von zu zum zur ten ter te bin
    ibn ben al el upon y af av & vom und et
    """
)
"""Words in lower case that may be inside of a name."""

PRONOUNS = read_words(
    """
    he she it they his her its their hers him
    """
)
PERSON_PRONOUNS = read_words(
    """
    he she his her him hers
    """
)

AUXILIARIES = read_words(
    """
    is are was were be been being am has have had having do does did can could will would shall should may might
    must cannot isn't wasn't aren't weren't doesn't don't didn't hasn't haven't hadn't won't can't couldn't
    wouldn't
    """
)

_BASE_VERBS = """
    adapt allow appear ask beat become begin belong bring build buy call come comprise connect contain cover depend
    describe die enter extend fall feature flow follow get give go grow hear help hold import include join keep know
    last lead learn lend lie live log lose love hate make mean meet need open own pay play portray produce provide
    publish read receive record refer remain replace report represent require rise run say see sell send serve set share
    show sing speak stand star start store support take tell think turn use win work write praise complain reach teach
    pass cross
"""
_IRREGULAR = """
    aired became began born bought broke brought built came cast chose chosen contested cut did drawn drew drove ended
    fed fell fled flew fought found gave given goes got grew grown held hit hung kept killed knew known laid
    lasted learnt led left lent lost made meant met moves overseen owed paid put ran rebuilt rose sang sat saw seen sent
    shot shown sits sold spent spoke spoken stood struck sung taken taught thought thrown told took understood went won
    wore worn written wrote borders starring featuring including directing producing serving playing using making
    becoming leading following owning running winning writing calling
"""
VERBS = frozenset(
    [*_IRREGULAR.split(), *_BASE_VERBS.split()]
    + [f"{verb}{'es' if verb.endswith(('s', 'ch')) else 's'}" for verb in _BASE_VERBS.split()]
)
"""Verb forms that no ending shows: those of the present, and irregular ones."""

NO_VERBS = read_words(
    """
    red bed seed speed need shed sacred hundred indeed breed feed naked wicked rugged aged
    """
)
"""Words that end like a verb in the past and are none."""

DETERMINERS = read_words(
    """
    a an the this that these those its his her their
    """
)

LINKING_VERBS = read_words(
    """
    calls asks reads uses owns imports extends queries requires wraps replaces feeds notifies triggers call ask
    read use import extend query require wrap replace calling asking reading using
    """
)
"""Verbs that have a component of a system as their object."""

NO_PLURALS = read_words(
    """
    series species news lens mars venus james charles jones williams adams rogers peters phillips hughes davies
    andrews stones edwards roberts richards stevens stephens matthews wales thames athens brussels naples angeles
    cannes versailles netherlands philippines states nations olympics games times simmons simpsons sanders
    saunders collins jenkins watkins hawkins dickens perkins robbins hopkins parsons evans owens lyons burns
    jacobs daniels reynolds brooks banks wells woods fields waters rivers hills myers powers bowers sachs marks
    aries movies cookies rookies zombies calories always perhaps premises politics mathematics physics
    headquarters ros dos ios aws
    """
)
"""Words with an "s" at their end that are no plurals, most of them names."""
