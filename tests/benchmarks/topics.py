"""What the dialogues of the benchmark are about: 20 topics in three languages, four statements each.

The key words of a topic stand between underscores; no other topic has them.
"""

from __future__ import annotations

ENGLISH = """
The _ferry_ to the island is cancelled because the _fog_ does not lift.
We could take the evening _hovercraft_, but it only carries forty passengers.
The _harbour_ office refunds every ticket until Friday.
My _seasickness_ tablets are still in the red suitcase.

Our _baker_ wants two hundred _loaves_ of rye for the street party.
The _oven_ has to be booked a week before, says the mill.
Someone must order _yeast_ and forty kilos of flour.
The old _dough_ mixer makes a noise like a tractor.

The _dentist_ found a crack in the second _molar_.
A ceramic _crown_ costs six hundred and lasts about fifteen years.
The _anaesthetic_ made my left cheek numb until supper.
The insurance pays half when the _x-ray_ is attached.

The _beehives_ behind the chapel lost their _queen_ in March.
We feed the _swarm_ with sugar water until the lime trees bloom.
A beginner should wear a _veil_ and gloves of leather.
Last summer the _honey_ filled ninety jars.

The _piano_ in the school hall is out of tune again.
A _tuner_ from the conservatory can come on the ninth.
The lowest _string_ snapped during the spring _concert_.
Nobody may put flowers on the _lid_ any more.

Our _mortgage_ runs out in October and the _rate_ is going up.
The credit union offers a _loan_ over twelve years.
We need a _notary_ and the land register before August.
The _repayment_ would be eleven hundred a month.

The _telescope_ arrived with a scratch on the main _mirror_.
On Thursday the _comet_ stands low above the northern ridge.
A red _torch_ keeps our eyes used to the dark.
The _observatory_ on the hill opens its dome at ten.

The _goalkeeper_ broke two fingers in the _semifinal_.
The _referee_ admitted on the radio that he was wrong.
We play in the blue _jerseys_, since the others wear white.
The _coach_ wants a training camp in the Alps.

The _printer_ on the third floor eats every second sheet.
A new _cartridge_ of magenta is on its way from the supplier.
The _driver_ has to be installed by somebody with administrator rights.
Please keep the _warranty_ slip and the serial number.

The _puppy_ chewed the leg of grandmother's _armchair_.
The _vet_ gave it a _vaccination_ against rabies and a chip.
It sleeps in a _basket_ beside the radiator.
The trainer says a short _leash_ helps with barking.

The _passport_ of my son expires nine days before the trip.
The _consulate_ needs two biometric photos and a birth certificate.
A _visa_ for three months costs eighty.
The _courier_ brings the papers back to our door.

The _greenhouse_ lost four panes in the _hailstorm_.
The _tomatoes_ survived, but the cucumbers are crushed.
A _glazier_ can replace the panes on Wednesday.
We should nail a _tarpaulin_ over the gap tonight.

The _marathon_ starts at the old gate at half past eight.
My _knee_ hurts after thirty kilometres, whatever shoes I wear.
The _physiotherapist_ taped it and forbade the _stairs_.
There are bananas and water at every _checkpoint_.

The _archive_ keeps the letters of the _lighthouse_ keeper in eleven boxes.
His _diary_ of 1907 mentions a shipwreck near the cape.
We may not use a _flash_, so bring a tripod.
The _librarian_ speaks Norwegian and can read the old script.

The _wedding_ will be in a barn with eighty guests.
The _florist_ suggests dahlias, since peonies are over by then.
My cousin is allergic to _hazelnuts_, so the _cake_ needs almonds.
A brass _quartet_ plays until the dancing begins.

The _boiler_ lost pressure and the _radiators_ upstairs stay cold.
The _plumber_ suspects the valve behind the washing machine.
He charges a _surcharge_ after six in the evening.
The _thermostat_ in the corridor shows nonsense anyway.

The _exam_ in organic _chemistry_ was moved to the twentieth.
Only a pocket _calculator_ without memory is allowed.
The _professor_ asks about esters every single year.
Our study group meets in the _cafeteria_ below the lecture hall.

The _tram_ line to the stadium is being dug up until winter.
A replacement _bus_ goes from the market every twelve minutes.
The _pass_ for pupils is valid on both.
Cyclists must use the _detour_ along the _canal_.

The _theatre_ group needs a _wig_ for the second act.
Our _prompter_ has lost her voice and whispers.
The _curtain_ got stuck at the dress _rehearsal_.
All seats in the _balcony_ are sold.

The _server_ room reached forty degrees on Sunday _night_.
The _backup_ of the customer tables stopped halfway.
A spare _fan_ lies in the cupboard of the janitor.
From now on the _alarm_ calls two phones.
"""

PORTUGUESE = """
A _balsa_ para a ilha foi cancelada por causa do _nevoeiro_.
Podíamos ir no _catamarã_ da noite, mas ele só leva quarenta passageiros.
O guichê do _porto_ devolve o dinheiro até sexta.
Meus comprimidos para _enjoo_ ficaram na mala vermelha.

O _padeiro_ quer duzentos _pães_ de centeio para a festa da rua.
O _forno_ precisa ser reservado uma semana antes, diz o moinho.
Alguém deve encomendar _fermento_ e quarenta quilos de farinha.
A velha _amassadeira_ faz barulho de trator.

O _dentista_ achou uma rachadura no segundo _molar_.
Uma _coroa_ de cerâmica custa seiscentos e dura quinze anos.
A _anestesia_ deixou minha bochecha dormente até o jantar.
O seguro paga metade quando a _radiografia_ vai junto.

As _colmeias_ atrás da capela perderam a _rainha_ em março.
Alimentamos o _enxame_ com água doce até as tílias abrirem.
Quem começa deve usar _véu_ e luvas de couro.
No verão passado o _mel_ encheu noventa potes.

O _piano_ do salão da escola desafinou de novo.
Um _afinador_ do conservatório pode vir no dia nove.
A _corda_ mais grave arrebentou durante o _concerto_ da primavera.
Ninguém mais pode pôr flores sobre a _tampa_.

Nossa _hipoteca_ termina em outubro e os _juros_ vão subir.
A cooperativa oferece um _empréstimo_ de doze anos.
Precisamos do _cartório_ e do registro antes de agosto.
A _prestação_ ficaria em mil e cem por mês.

O _telescópio_ chegou com um risco no _espelho_ principal.
Na quinta o _cometa_ fica baixo sobre a serra do norte.
Uma _lanterna_ vermelha mantém os olhos acostumados ao escuro.
O _observatório_ do morro abre a cúpula às dez.

O _goleiro_ quebrou dois dedos na _semifinal_.
O _árbitro_ admitiu no rádio que errou.
Jogamos de _camisas_ azuis, pois os outros vestem branco.
O _treinador_ quer concentração nas montanhas.

A _impressora_ do terceiro andar engole uma folha sim, outra não.
Um _cartucho_ novo de magenta já saiu do fornecedor.
O _programa_ deve ser instalado por quem tem senha de administrador.
Guarde o papel da _garantia_ e o número de série.

O _filhote_ roeu o pé da _poltrona_ da avó.
O _veterinário_ deu a _vacina_ contra raiva e um chip.
Ele dorme num _cesto_ ao lado do aquecedor.
A adestradora diz que a _coleira_ curta ajuda com os latidos.

O _passaporte_ do meu filho vence nove dias antes da viagem.
O _consulado_ pede duas fotos biométricas e a certidão de nascimento.
Um _visto_ de três meses custa oitenta.
O _mensageiro_ traz os papéis de volta para casa.

A _estufa_ perdeu quatro vidros na chuva de _granizo_.
Os _tomates_ escaparam, mas os pepinos foram esmagados.
Um _vidraceiro_ pode trocar os vidros na quarta.
Devíamos pregar uma _lona_ sobre o buraco ainda hoje.

A _maratona_ começa no portão antigo às oito e meia.
Meu _joelho_ dói depois de trinta quilômetros com qualquer tênis.
A _fisioterapeuta_ enfaixou e proibiu _escadas_.
Há bananas e água em cada _posto_.

O _arquivo_ guarda as cartas do _faroleiro_ em onze caixas.
O _diário_ de 1907 fala de um naufrágio perto do cabo.
Não se pode usar _flash_, então traga um tripé.
A _bibliotecária_ fala norueguês e lê a letra antiga.

O _casamento_ vai ser num celeiro com oitenta convidados.
A _florista_ sugere dálias, porque as peônias já passaram.
Minha prima tem alergia a _avelãs_, então o _bolo_ leva amêndoas.
Um _quarteto_ de cordas toca até a dança começar.

A _caldeira_ perdeu pressão e os _radiadores_ de cima estão frios.
O _encanador_ suspeita da válvula atrás da lavadora.
Ele cobra uma _taxa_ depois das seis da tarde.
O _termostato_ do corredor marca qualquer coisa mesmo.

A _prova_ de _química_ orgânica passou para o dia vinte.
Só é permitida uma _calculadora_ sem memória.
O _professor_ pergunta sobre ésteres todo ano.
Nosso grupo se encontra na _cantina_ embaixo do auditório.

A linha do _bonde_ até o estádio está em obras até o inverno.
Um _ônibus_ sai do mercado a cada doze minutos.
O _bilhete_ dos alunos vale nos dois.
Os ciclistas devem usar o _desvio_ ao longo do _canal_.

O grupo de _teatro_ precisa de uma _peruca_ para o segundo ato.
Nossa _ponto_ perdeu a voz e só sussurra.
A _cortina_ emperrou no _ensaio_ geral.
Todos os lugares do _balcão_ estão vendidos.

A sala do _servidor_ chegou a quarenta graus na _madrugada_ de domingo.
A _cópia_ das tabelas de clientes parou no meio.
Há um _ventilador_ de reserva no armário do zelador.
De agora em diante o _alarme_ liga para dois telefones.
"""

CHINESE = """
去海岛的_渡轮_因为_大雾_一直没有散而停航。
我们可以坐晚上的_气垫船_，但是它只能载四十名乘客。
_码头_办公室在星期五之前可以退所有的票。
我的_晕船_药还在红色行李箱里。

我们的_面包师_要为街道聚会准备两百个_黑麦_面包。
磨坊说_烤炉_必须提前一个星期预订。
得有人去订_酵母_和四十公斤面粉。
那台旧的_和面机_响得像拖拉机。

_牙医_发现我的第二颗_臼齿_裂开了。
一个陶瓷_牙冠_要六百块，大约能用十五年。
_麻药_让我的左脸一直麻到晚饭的时候。
附上_牙片_的话，保险公司会付一半。

小教堂后面的_蜂箱_在三月失去了_蜂王_。
我们用糖水喂_蜂群_，一直到椴树开花。
初学者应该戴上_面纱_和皮手套。
去年夏天的_蜂蜜_装满了九十个罐子。

学校礼堂的_钢琴_又走音了。
音乐学院的_调音师_九号可以过来。
最低的那根_琴弦_在春季_音乐会_上断了。
以后谁也不许在_琴盖_上放花。

我们的_房贷_十月到期，_利率_还要上涨。
信用社愿意提供十二年的_借款_。
八月以前我们要找_公证处_和土地登记处。
每个月的_还款_大概是一千一百块。

_望远镜_送来的时候主_镜面_上有一道划痕。
星期四_彗星_会低低地挂在北边的山脊上。
红色的_手电筒_能让眼睛适应黑暗。
山上的_天文台_十点打开圆顶。

_守门员_在_半决赛_里折断了两根手指。
_裁判_在广播里承认自己判错了。
我们穿蓝色_球衣_，因为对方穿白色。
_教练_想去阿尔卑斯山集训。

三楼的_打印机_每隔一张就卡纸。
新的品红_墨盒_已经从供应商那里发出。
_驱动程序_必须由有管理员权限的人来安装。
请保管好_保修单_和序列号。

_小狗_咬坏了外婆的_扶手椅_的腿。
_兽医_给它打了狂犬病_疫苗_，还装了芯片。
它睡在暖气旁边的_篮子_里。
训练师说短一点的_牵引绳_可以减少吠叫。

我儿子的_护照_在旅行前九天过期。
_领事馆_要两张生物识别照片和出生证明。
三个月的_签证_要八十块。
_快递员_会把证件送回我们家门口。

_温室_在_冰雹_里碎了四块玻璃。
_西红柿_活下来了，黄瓜却全压坏了。
_玻璃匠_星期三可以来换。
今天晚上我们应该在缺口上钉一块_油布_。

_马拉松_八点半从老城门出发。
不管穿什么鞋，跑过三十公里我的_膝盖_就疼。
_理疗师_给它贴了胶布，还不许走_楼梯_。
每个_补给站_都有香蕉和水。

_档案馆_用十一个箱子保存着_灯塔_看守人的信。
他1907年的_日记_里提到海角附近的一次沉船。
我们不能用_闪光灯_，所以请带三脚架。
_图书管理员_会挪威语，看得懂旧字体。

_婚礼_会在一个谷仓里举行，有八十位客人。
_花店_推荐大丽花，因为那时候牡丹已经谢了。
我表妹对_榛子_过敏，所以_蛋糕_要用杏仁。
弦乐_四重奏_会一直演奏到跳舞开始。

_锅炉_压力不够，楼上的_暖气片_一直是冷的。
_水管工_怀疑是洗衣机后面的阀门。
晚上六点以后他要收_加班费_。
走廊里的_温控器_显示的数字反正也不准。

有机_化学_的_考试_改到了二十号。
只允许带没有存储功能的_计算器_。
_教授_每年都要考酯类。
我们的学习小组在讲堂下面的_食堂_碰头。

去体育场的_电车_线路要挖到冬天。
_替代巴士_每十二分钟从市场开出一班。
学生_月票_两种车都能用。
骑车的人要沿着_运河_的_绕行路_走。

_剧团_第二幕需要一顶_假发_。
我们的_提词员_嗓子哑了，只能小声说话。
_幕布_在_彩排_的时候卡住了。
_楼座_的位置全部卖完了。

_机房_在星期天_深夜_达到了四十度。
客户数据表的_备份_做到一半就停了。
管理员的柜子里有一个备用_风扇_。
从今以后_警报_会打两个电话。
"""

CHATTER = {
    "en": """
Hello, do you have a minute for me?
Yes, of course, tell me more about it.
That sounds good to me, thank you very much.
Hm, I am not sure what to think about that.
Oh really, I did not know that at all.
All right, let us talk about it again on {day}.
{name} asked me the same thing on {day}.
I will write it on the list for {name}.
Did you tell {name} about this already?
We had the same trouble {number} years ago, remember?
Please call me after {number} and remind {name} as well.
It took me the whole of {day} to find that out.
Honestly, {name} worries too much about such things.
Can it wait until {day}, or is it urgent?
""",
    "pt": """
Olá, você tem um minuto para mim?
Sim, claro, me conte mais sobre isso.
Parece bom para mim, muito obrigado mesmo.
Hum, não sei bem o que pensar disso.
Ah é, eu não sabia disso de jeito nenhum.
Está bem, falamos disso de novo na {day}.
{name} me perguntou a mesma coisa na {day}.
Vou pôr isso na lista para {name}.
Você já contou isso para {name}?
Tivemos o mesmo problema há {number} anos, lembra?
Me ligue depois das {number} e lembre {name} também.
Levei a {day} inteira para descobrir isso.
Sinceramente, {name} se preocupa demais com essas coisas.
Pode esperar até {day}, ou é urgente?
""",
    "zh": """
你好，你现在有空吗？
当然可以，你再跟我说说吧。
听起来不错，非常感谢你。
嗯，我也不知道该怎么想。
哦真的吗，这个我完全不知道。
好吧，我们{day}再谈这个。
{name}{day}问过我同样的事情。
我会替{name}把它写进清单。
这件事你告诉{name}了吗？
{number}年前我们也遇到过同样的麻烦，还记得吗？
请在{number}点以后给我打电话，也提醒一下{name}。
我花了整个{day}才弄明白。
说实话，{name}对这种事太操心了。
能等到{day}吗，还是很急？
""",
}
FILLERS = {
    "en": {"day": "Monday Tuesday Saturday", "name": "Anna Marek Grandfather Olu", "number": "two five seven"},
    "pt": {"day": "segunda terça sábado", "name": "Ana Marcos Vovô Olu", "number": "duas cinco sete"},
    "zh": {"day": "星期一 星期二 星期六", "name": "安娜 马克 爷爷 小林", "number": "两 五 七"},
}

STATEMENTS = {"en": ENGLISH, "pt": PORTUGUESE, "zh": CHINESE}
