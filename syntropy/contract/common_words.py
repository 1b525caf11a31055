"""The commonest English words, as terms: written by `python -m tests.generated_common_words`.

Of a question's words that occur nowhere these say how it was put (`supposed`, `away`), others what it is about.
"""

from __future__ import annotations

from functools import lru_cache

_PACKED = """
abil abl about abov academ academi accept access accord account acquir across act action activ actor actress actual ad
adam addit administr adopt advanc affair africa african after ag again against agenc agent ago agre agreement ahead
air aircraft airport al album alex alexand aliv all allow almost alon along alongsid alreadi also although alwai am
america american among amount analysi ancient andrew angel ani anim announc annual anoth answer anti anyon anyth
anywai apart appear appli appoint approach approxim april architectur area arm armi around arriv art arthur articl
artist asia asian ask assembli assign assist associ attack attempt attend attent august australia australian author
avail avenu averag awai award babi back background bad bai ball band bank bar base basebal basi basic basketbal bass
battalion battl bbc be beach beat beauti becam becaus becom bed been befor began begin behind believ below ben beneath
berlin besid best better between beyond big bill birth bishop bit black block blood blue board boat bob bodi boi book
border born boston both bottom bought box brain branch break breath bridg brigad bring britain british broadcast broke
broken brother brought brown bu build built buri busi california call came camp campaign campu can canada canadian
candid cannot capac capit captain captur car card care career carolina carri case cast castl cathol caught caus cd
cell censu center centr central centuri certain chair chairman challeng champion championship chanc chang channel
chapter charact charg charl chart chest chicago chief child children china chines choic chosen chri christian christma
church citi civil claim class clear close closer cloth club co coach coast code coffe cold collect colleg color
columbia com combin come comedi command commerci commiss committe common commonli commun compani compar compet
competit complet complex compos comput concept concert condit conduct confer congress connect consid consist construct
contact contain contemporari content continu contract control corner corp corpor cost could couldn council count
counti countri coupl cours court cover creat creek crew crime critic cross crowd cultur cup current cut dad dai daili
damag danc daniel dark data date daughter david de dead deal death debut decemb decid decis declar dedic deep defeat
defens defin degre del democrat densiti depart deputi der describ design despit destroi develop di did didn die differ
difficult digit direct directli director discov diseas distanc district divid divis do doctor doe doesn dog don done
door doubl down dr drama draw dream drew drive driver drop drum dry du due duke dure dutch each earli earlier earn
earth easi easili east eastern econom ed edg edit editor educ edward effect effort eight either el elect electr
element elizabeth els emperor empir empti end enemi energi engin england english enough enter entertain entir entranc
environ episod equip era escap especi establish estat et europ european even event eventu ever everi everyon everyth
evid exactli exampl except exchang execut expect experi express extend ey face facil fact fail fair fall famili famou
far farm fast father fear featur februari feder feel feet fell fellow felt femal festiv few field fifth fight figur
fill film final financi find fine finger finish fire firm first fish five flat fleet flight floor florida fly focu
focus follow food foot footbal forc foreign forest form format former formerli fort forward fought found foundat
founder four fourth franc francisco frank free freedom french friend from front ft full fulli function further futur
ga gain galleri game garden gave gaze gener genu georg georgia german germani get girl give given glanc glass global
go goal god goe gold golden gone good got govern governor grab grade graduat grai grand grant great greater greek
green grew ground group grow growth guard guess guest gui guitar gun ha had hadn hair half hall hand happen happi hard
harri have haven he head headquart health hear heard heart heat heavi held hell help henri her here herself hi high
higher highest highli highwai hill him himself histor histori hit hockei hold holi home hong honor hope hors hospit
host hot hotel hour hous household how howev huge human hundr hurt husband ic idea ii iii illinoi imag immedi impact
import inc includ incom increas independ india indian individu industri infantri influenc inform initi insid instead
institut intend interest intern internet introduc involv iran ireland irish iron isbn island isn israel issu it itali
italian itself jack jackson jame januari japan japanes jazz jean jersei jewish jim job joe john johnson join joint
jone joseph journal jr judg juli june junior just justic keep kei kept kid kill kilometr kind king kingdom kiss
kitchen km knew know knowledg known kong la label lack ladi lai laid lake land languag larg larger largest last late
later latin latter laugh launch law le lead leader leadership leagu lean learn least leav led lee left leg legal
length less let letter level li liber librari lieuten life lift light like limit line lip list literatur littl live ll
lo local locat london long longer look lord lose loss lost lot loui love low lower machin made magazin magic mai main
mainli major make male man manag mani march mari maria marin mark market marri marriag martin mass master match materi
matter max mayb mayor me mean meant medal media median medic medicin meet member memori men mention met metal method
metr mexico mi michael michigan mid middl might mike mile militari million mind mine minist ministri minor minut miss
mission mix mm model modern mom moment monei month moon more morn most mostli mother mount mountain mouth move
movement movi mr much multipl municip murder museum music must my myself name nation nativ natur naval navi near
nearbi nearli necessari neck need network never new newspap next nice nick night nine nod nomin non none normal north
northern notabl note noth novel novemb now number numer occur ocean octob off offer offic offici often oh ohio oil
okai old older olymp on onc onli onlin onto open oper opera orchestra order organ origin other our out outsid over
overal own owner pacif page pai paid pain paint pair palac paper parent pari parish park parliament part parti
particip particular particularli partner pass past path paul peac pennsylvania peopl per percent perfect perform
perhap period person peter phone physic piano pick pictur piec place plai plan plant platform player pleas point
poland polic polici polish polit politician poor pop popul popular port posit possibl possibli post potenti power
practic pre premier presenc present presid press pressur pretti previou previous price primari primarili prime princ
princip prior prison privat prize pro probabl problem process produc product profession professor program project
promin promot properti propos protect provid provinc public publish pull purchas purpos push put qualiti quarter queen
question quick quickli quiet quit race radio rai railroad railwai rais ran rang rate rather re reach read readi real
realiz realli reason receiv recent recogn record red refer refus regiment region regist regular relat relationship
releas religi remain rememb remov renam replac repli report repres republ republican requir research reserv resid
resourc respons rest result retir return reveal review rich richard right ring rise risk river road robert rock role
roman rome room rose round rout royal rugbi rule run rural russia russian safe safeti sai said saint sam same san
santa sat save saw scale scene school scienc scientif score scotland scott scottish screen sea search season seat
second secondari secret secretari section secur see seem seen select self semi senat senior sens sent separ septemb
seri seriou serv servic set settl settlement seven sever sex share she ship shirt shook short shortli shot should
shoulder show shown shut side sign signific silenc silver similar simon simpl simpli sinc singer singl sir sister sit
site situat six size skin sky sleep slightli slow slowli small smaller smile smith so social societi soft softwar sold
soldier solo some someon someth sometim son song soon sorri sort soul sound sourc south southern soviet space spain
spanish speak speci special specif speed spent split spoke sport spot spread spring squadron squar st stadium staff
stage stai stand standard star stare start state station statu steel step steve still stomach stone stood stop store
stori storm straight street strength strong structur student studi studio style subject subsequ success suddenli
suffer suggest summer sun super support suppos suprem sure surfac surround sweet sydnei system tabl take taken talk
tall taught tax taylor teach teacher team tear technic technologi teeth televis tell templ ten term territori test
texa text than thank theater theatr them themselv theori therefor thick thing think third thirti thoma those though
thought three throat through throughout thu time titl todai togeth told tom tone toni tonight too took top total touch
tour tournament toward tower town township track trade tradit traffic train transfer transport travel treatment tree
tri trial troop true trust truth try turn tv twenti twice two type typic u uk unabl under understand union uniqu unit
univers unknown until up upon upper urban us usa usual vallei valu van varieti variou ve vehicl veri version via vice
victori victoria video view villag virginia visit vocal voic volum von vote wai wait wale walk wall want war warm
washington wasn watch water we weapon wear websit week weight well went were west western what whatev when where
whether which while whisper white who whole whom whose why wide wife wild william wilson win wind window wing winner
winter wish within without woman women won wood word work worker world worth would wouldn write writer written wrong
wrote yard ye yeah year yellow yet york you young younger your youth zealand zone
"""


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """The terms."""
    return frozenset(_PACKED.split())
